// One check of some Services of one family, in a thread of its own: it takes memory and time that syncs must not wait for, and
// gives both back. Of the kernel's rules only what can concern these Services is kept, however many others there are.
import { parentPort, workerData } from 'node:worker_threads';
import { concernOf } from '../observe/live/concern.ts';
import { TRACE_MODES } from '../observe/live/modes.ts';
import { causeText } from '../observe/verify/cause.ts';
import { type Mismatch, verify } from '../observe/verify/verify.ts';
import type { CheckQuestion, CheckResult } from './self-check.ts';
import type { Finding } from './self-check-turns.ts';
import { sightOf } from './sight.ts';

const { mode, model, settings, nodeName } = workerData as CheckQuestion;
const concern = concernOf(model);
const { cases, mismatches } = verify(await sightOf({ mode: TRACE_MODES[mode], model, settings, nodeName, concern }));
const found = Map.groupBy(mismatches, ({ service }) => service.split(':')[0]!);
const result: CheckResult = { cases, found: Array.from(found, ([service, all]) => findingOf(service, all)) };
parentPort!.postMessage(result);

function findingOf(name: string, mismatches: readonly Mismatch[]): Finding {
  const { service, frontend, client, cause } = mismatches[0]!;
  const first = `${service}: ${frontend} from ${client}: ${causeText(cause)}`;
  return { service: name, mismatches: mismatches.length, first };
}
