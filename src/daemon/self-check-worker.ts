// One check of one family, in a thread of its own: it takes memory and time that syncs must not wait for, and gives both back.
import { parentPort, workerData } from 'node:worker_threads';
import { TRACE_MODES } from '../observe/live/modes.ts';
import { causeText } from '../observe/verify/cause.ts';
import { verify } from '../observe/verify/verify.ts';
import type { CheckQuestion, CheckResult } from './self-check.ts';
import { sightOf } from './sight.ts';

const { mode, model, settings, nodeName } = workerData as CheckQuestion;
const report = verify(await sightOf({ mode: TRACE_MODES[mode], model, settings, nodeName }));
const result: CheckResult = {
  cases: report.cases,
  mismatches: report.mismatches.map(
    ({ service, frontend, client, cause }) => `${service}: ${frontend} from ${client}: ${causeText(cause)}`,
  ),
};
parentPort!.postMessage(result);
