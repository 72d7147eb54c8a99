// Packets walked through the rules that the kernel holds now: what the console's trace form and its check ask.

import { KernelError } from '../kernel/error.ts';
import type { Clock } from '../lib/clock.ts';
import { type Family, familyOf } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { ModeName } from '../modes/mode.ts';
import { familyDetector, type NodeSettings } from '../node/facts.ts';
import type { VerifyShape } from '../observe/console/shapes.ts';
import type { ConsoleState } from '../observe/console/state.ts';
import { TraceQuestionError, traceClient, traceDestination } from '../observe/console/trace-ends.ts';
import { kernelRules } from '../observe/live/kernel-rules.ts';
import { TRACE_MODES, type TraceMode } from '../observe/live/modes.ts';
import { packetFrom } from '../observe/trace/clients.ts';
import { AddressBook } from '../observe/trace/frontends.ts';
import { type TraceReport, traceReport } from '../observe/trace/report.ts';
import { Walker } from '../observe/trace/walk.ts';
import { causeText } from '../observe/verify/cause.ts';
import { driftText } from '../observe/verify/drift-text.ts';
import { type VerifyReport, verification } from '../observe/verify/verify.ts';
import { hostOf, sightOf } from './sight.ts';

export interface WalkOptions {
  readonly mode: ModeName;
  readonly state: ConsoleState;
  readonly settings: NodeSettings;
  readonly nodeName: string;
  readonly clock: Clock;
}

export interface Walks {
  readonly trace: (from: string, to: string) => Promise<TraceReport>;
  readonly verify: () => Promise<VerifyShape>;
}

export function walksOf(options: WalkOptions): Walks {
  const mode = TRACE_MODES[options.mode];
  let checking: Promise<VerifyShape> | undefined;
  return {
    trace: (from, to) => trace(options, mode, from, to),
    // Whoever asks while one check is under way gets its answer.
    verify: () => {
      checking ??= check(options, mode).finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
}

async function trace(options: WalkOptions, mode: TraceMode, from: string, to: string): Promise<TraceReport> {
  const { state, settings, nodeName } = options;
  const models = [...state.reports.values()].map(({ model }) => model);
  const destination = traceDestination(to, models, settings.addresses.ips);
  const family = familyOf(destination.ip);
  const model = modelOf(state, family);
  const { ruleset, text, source } = await told(kernelRules(family, mode));
  const { host } = await hostOf(settings, ruleset);
  const book = new AddressBook(model);
  const origins = mode.origins(model);
  const node = { model: { ...model, isFresh: true }, settings, nodeName };
  const context = { family, host, detector: familyDetector(settings, family), podCIDRs: settings.podCIDRs, book };
  const client = traceClient(from, destination, context);
  const packet = packetFrom(client, destination.ip, destination.port, destination.protocol);
  const outcomes = new Walker(mode.complete?.(ruleset, node, text) ?? ruleset).walk(packet, host);
  return traceReport(packet, outcomes, { node: nodeName, rules: source, origins, book });
}

/** The program that lists the rules is missing, or may not be asked: whoever looks at the page is told. */
async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof KernelError ? new TraceQuestionError(error.message) : error;
  }
}

function modelOf(state: ConsoleState, family: Family): NodeModel {
  const report = state.reports.get(family);
  if (!report) throw new TraceQuestionError(`${family} is not served on this node`);
  return report.model;
}

async function check(options: WalkOptions, mode: TraceMode): Promise<VerifyShape> {
  const { state, clock, settings, nodeName } = options;
  const startedAt = clock.now();
  const reports: VerifyReport[] = [];
  for (const family of state.reports.keys())
    reports.push(
      await inSlices(verification(await told(sightOf({ mode, model: modelOf(state, family), settings, nodeName })))),
    );
  const mismatches = reports.flatMap((report) => report.mismatches);
  const drift = reports.flatMap((report) => report.drift);
  return {
    at: clock.wallNow(),
    milliseconds: Math.round(clock.now() - startedAt),
    cases: reports.reduce((sum, { cases }) => sum + cases, 0),
    services: Math.max(0, ...reports.map(({ services }) => services)),
    agrees: mismatches.length === 0 && drift.length === 0,
    mismatches: mismatches.slice(0, MAX_SHOWN).map(({ cause, service, frontend, client, expected, actual }) => ({
      service,
      frontend,
      client,
      expected,
      actual,
      cause: causeText(cause),
    })),
    unjudged: reports.reduce((sum, { unjudged }) => sum + unjudged.length, 0),
    drift: drift.slice(0, MAX_SHOWN).map(driftText),
  };
}

const MAX_SHOWN = 200;

/** Syncs go on between the slices. */
async function inSlices(slices: ReturnType<typeof verification>): Promise<VerifyReport> {
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
