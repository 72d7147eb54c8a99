// Now and then the agent checks by itself that the rules in the kernel do what the objects mean, by walking packets through them; some
// Services at a time, so that a check costs as much in a large cluster as in a small one. What does not agree is told as a metric, an
// event and a line in the log, with its cause; rules of ours that are wrong are written anew.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { ModeName } from '../modes/mode.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Log } from '../observe/log.ts';
import { type CheckSize, CheckTurns, type Finding, partOf } from './self-check-turns.ts';

export interface CheckQuestion {
  readonly mode: ModeName;
  /** Of the Services to be checked alone. */
  readonly model: NodeModel;
  readonly settings: NodeSettings;
  readonly nodeName: string;
}

export interface CheckResult {
  readonly cases: number;
  readonly found: readonly Finding[];
}

/** What is known after a check. */
export interface CheckNews {
  /** Of this check. */
  readonly cases: number;
  /** Of every Service when it was last checked. */
  readonly mismatches: number;
  /** Of those that this check found, one in words. */
  readonly first: string | undefined;
}

export interface SelfCheckOptions {
  readonly mode: ModeName;
  readonly settings: NodeSettings;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  readonly size?: CheckSize;
  /** The families and what was last synced of each; a model that is another afterwards was overtaken by a sync. */
  readonly models: () => ReadonlyMap<Family, NodeModel>;
  readonly onResult: (family: Family, news: CheckNews) => void;
}

/** Takes 60 to 80 MB for as long as it lasts, of which 30 to 45 are what the smallest check takes; measured with 10,000 Services. */
const USUAL_SIZE: CheckSize = { services: 1000, endpoints: 5000 };
/** Of memory for new objects. With what the engine would take by itself a check grows twice as large, and is hardly faster. */
const MOST_NEW_MB = 8;
const MOST_TOLD = 5;
/** Once something is mended, an alert for the rest should not have to wait for whole rounds. */
const SOONER = 10;

/** Until the signal is aborted. */
export async function checkNowAndThen(options: SelfCheckOptions, signal: AbortSignal): Promise<void> {
  const { clock, periodMs, models, log } = options;
  const turns = new Map<Family, CheckTurns>();
  let isOutdated = false;
  while (!signal.aborted) {
    await clock.wait(isOutdated ? periodMs / SOONER : periodMs, signal);
    isOutdated = false;
    for (const family of signal.aborted ? [] : models().keys()) {
      const ofFamily = turns.get(family) ?? new CheckTurns();
      turns.set(family, ofFamily);
      try {
        isOutdated = (await checkNext(options, family, ofFamily)) || isOutdated;
      } catch (error) {
        log.error(error, 'The agent could not check its rules', { ipFamily: family });
      }
    }
  }
}

/** True if what is known may be out of date. */
async function checkNext(options: SelfCheckOptions, family: Family, turns: CheckTurns): Promise<boolean> {
  const model = options.models().get(family);
  if (!model) return false;
  const names = turns.next(model, options.size ?? USUAL_SIZE);
  const result = await check(options, partOf(model, names));
  const found = await confirmed(options, family, model, result.found);
  const isOutdated = turns.note(model, names, found);
  tell(options, family, { ...result, found, services: names.size, allServices: model.services.size });
  const { cases } = result;
  options.onResult(family, { cases, mismatches: mismatchesOf(turns.findings), first: found[0]?.first });
  return isOutdated;
}

/** Rules that a sync writes while they are read may be seen half written. Then what seems wrong is looked at again: it counts if it is
 *  found each time, of a Service that stays the same. */
async function confirmed(
  options: SelfCheckOptions,
  family: Family,
  asked: NodeModel,
  found: readonly Finding[],
): Promise<readonly Finding[]> {
  let model = asked;
  let left = found;
  const unchanged = (now: NodeModel | undefined): readonly Finding[] =>
    left.filter(({ service }) => now?.services.get(service) === asked.services.get(service));
  for (let look = 1; look < LOOKS && left.length > 0 && options.models().get(family) !== model; look++) {
    const now = await syncedModel(options, family);
    const names = new Set(unchanged(now).map(({ service }) => service));
    if (!now || names.size === 0) return [];
    model = now;
    left = (await check(options, partOf(model, names))).found;
  }
  return unchanged(options.models().get(family) ?? model);
}

const LOOKS = 3;

/** When the sync that is under way has ended; undefined if it fails, or does not end soon. */
async function syncedModel({ models, clock }: SelfCheckOptions, family: Family): Promise<NodeModel | undefined> {
  for (let second = 0; second < PATIENCE_SECONDS && !models().has(family); second++) await clock.wait(1000);
  return models().get(family);
}

const PATIENCE_SECONDS = 10;

function tell(
  { log }: SelfCheckOptions,
  family: Family,
  { cases, found, ...counts }: CheckResult & { readonly services: number; readonly allServices: number },
): void {
  for (const { first } of found.slice(0, MOST_TOLD)) {
    log.warning('Rules do not do what the objects mean', { ipFamily: family, mismatch: first });
  }
  log.info('Checked the rules', { ipFamily: family, cases, mismatches: mismatchesOf(found), ...counts }, 2);
}

function mismatchesOf(found: readonly Finding[]): number {
  return found.reduce((sum, { mismatches }) => sum + mismatches, 0);
}

function check({ mode, settings, nodeName }: SelfCheckOptions, model: NodeModel): Promise<CheckResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CheckResult>();
  const question: CheckQuestion = { mode, model, settings, nodeName };
  const worker = new Worker(new URL(`./self-check-worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: question,
    resourceLimits: { maxYoungGenerationSizeMb: MOST_NEW_MB },
  });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (code) => reject(new Error(`the check ended with code ${code}`)));
  worker.unref();
  return promise;
}
