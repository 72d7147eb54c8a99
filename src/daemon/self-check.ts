// Now and then the agent checks by itself that the rules in the kernel do what the objects mean, by walking packets through them. What
// does not agree is told as a metric, an event and a line in the log, with its cause; rules of ours that are wrong are written anew.
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { ModeName } from '../modes/mode.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Log } from '../observe/log.ts';

export interface CheckQuestion {
  readonly mode: ModeName;
  readonly model: NodeModel;
  readonly settings: NodeSettings;
  readonly nodeName: string;
}

export interface CheckResult {
  readonly cases: number;
  /** `shop/cart: cluster-ip 10.96.0.1:80/tcp from a pod here: …` */
  readonly mismatches: readonly string[];
}

export interface SelfCheckOptions {
  readonly mode: ModeName;
  readonly settings: NodeSettings;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** The families and what was last synced of each; a model that is another afterwards was overtaken by a sync. */
  readonly models: () => ReadonlyMap<Family, NodeModel>;
  readonly onResult: (family: Family, result: CheckResult) => void;
}

/** Beyond this a check takes hundreds of megabytes for seconds: `portolan verify` does it where somebody wants it. */
const MOST_SERVICES = 2000;
const MOST_TOLD = 5;

/** Until the signal is aborted. */
export async function checkNowAndThen(options: SelfCheckOptions, signal: AbortSignal): Promise<void> {
  const { clock, periodMs, models, log } = options;
  while (!signal.aborted) {
    await clock.wait(periodMs, signal);
    for (const [family, model] of signal.aborted ? [] : models()) {
      if (model.services.size > MOST_SERVICES) continue;
      try {
        const result = await check(options, model);
        if (models().get(family) === model) tell(options, family, result);
      } catch (error) {
        log.error(error, 'The agent could not check its rules', { ipFamily: family });
      }
    }
  }
}

function tell({ log, onResult }: SelfCheckOptions, family: Family, result: CheckResult): void {
  for (const mismatch of result.mismatches.slice(0, MOST_TOLD)) {
    log.warning('Rules do not do what the objects mean', { ipFamily: family, mismatch });
  }
  log.info('Checked the rules', { ipFamily: family, cases: result.cases, mismatches: result.mismatches.length }, 2);
  onResult(family, result);
}

function check({ mode, settings, nodeName }: SelfCheckOptions, model: NodeModel): Promise<CheckResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CheckResult>();
  const question: CheckQuestion = { mode, model, settings, nodeName };
  const worker = new Worker(new URL(`./self-check-worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: question,
  });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (code) => reject(new Error(`the check ended with code ${code}`)));
  worker.unref();
  return promise;
}
