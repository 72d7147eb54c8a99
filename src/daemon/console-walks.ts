// Packets walked through the rules that the kernel holds now: what the console's trace form and its check ask.
import { rulesetOf, savedTables } from '../cli/trace-modes.ts';
import { Addresses } from '../kernel/addresses.ts';
import type { Clock } from '../lib/clock.ts';
import { type Family, familyOf } from '../lib/ip.ts';
import { iptablesMode } from '../modes/iptables/iptables.ts';
import type { IptablesPlan } from '../modes/iptables/plan.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { VerifyShape } from '../observe/console/shapes.ts';
import type { ConsoleState } from '../observe/console/state.ts';
import { TraceQuestionError, traceClient, traceDestination } from '../observe/console/trace-ends.ts';
import { packetFrom } from '../observe/trace/clients.ts';
import { AddressBook } from '../observe/trace/frontends.ts';
import { IptablesOrigins } from '../observe/trace/iptables-origins.ts';
import { parseIptablesSave } from '../observe/trace/iptables-save.ts';
import { type TraceReport, traceReport } from '../observe/trace/report.ts';
import { Walker } from '../observe/trace/walk.ts';
import { causeText } from '../observe/verify/cause.ts';
import { driftText } from '../observe/verify/drift-text.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../observe/verify/iptables-scope.ts';
import { neighbourhoodOf } from '../observe/verify/neighbourhood.ts';
import { type VerifyInput, type VerifyReport, verification } from '../observe/verify/verify.ts';

export interface WalkOptions {
  readonly state: ConsoleState;
  readonly settings: NodeSettings;
  readonly nodeName: string;
  readonly clock: Clock;
}

export interface Walks {
  readonly trace: (from: string, to: string) => Promise<TraceReport>;
  readonly verify: () => Promise<VerifyShape>;
}

export function iptablesWalks(options: WalkOptions): Walks {
  let checking: Promise<VerifyShape> | undefined;
  return {
    trace: (from, to) => trace(options, from, to),
    // Whoever asks while one check is under way gets its answer.
    verify: () => {
      checking ??= check(options).finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
}

/** One family as it stands: what is planned, and what the kernel has. */
async function sightOf({ state, settings }: WalkOptions, family: Family): Promise<VerifyInput> {
  const report = state.reports.get(family);
  if (!report) throw new TraceQuestionError(`${family} is not served on this node`);
  const { model } = report;
  const plan = report.plan as IptablesPlan;
  const { facts } = plan;
  const planned = parseIptablesSave(iptablesMode.print(plan), family);
  const held = rulesetOf(family, await savedTables(family));
  const hostIps = await ownAddresses(family);
  const nodeIp = settings.addresses.ips[family];
  const own = new Set([...hostIps, nodeIp]);
  const book = new AddressBook(model);
  return {
    model,
    setup: iptablesSetup(facts),
    around: neighbourhoodOf(model, book, {
      nodeIp,
      hostIps,
      podCIDRs: settings.podCIDRs,
      detector: facts.detector,
      nodePortAddresses: facts.nodePortAddresses,
    }),
    host: { isOwnAddress: (ip) => own.has(ip), address: nodeIp },
    planned,
    held,
    origins: new IptablesOrigins(model),
    book,
    scope: IPTABLES_SCOPE,
  };
}

async function trace(options: WalkOptions, from: string, to: string): Promise<TraceReport> {
  const { state, settings, nodeName } = options;
  const models = [...state.reports.values()].map(({ model }) => model);
  const destination = traceDestination(to, models, settings.addresses.ips);
  const family = familyOf(destination.ip);
  const { held, host, book, origins } = await sightOf(options, family);
  const { detector } = (state.reports.get(family)!.plan as IptablesPlan).facts;
  const client = traceClient(from, destination, { family, host, detector, podCIDRs: settings.podCIDRs, book });
  const packet = packetFrom(client, destination.ip, destination.port, destination.protocol);
  const outcomes = new Walker(held!).walk(packet, host);
  return traceReport(packet, outcomes, { node: nodeName, rules: 'in the kernel', origins, book });
}

async function check(options: WalkOptions): Promise<VerifyShape> {
  const { state, clock } = options;
  const startedAt = clock.now();
  const reports: VerifyReport[] = [];
  for (const family of state.reports.keys()) reports.push(await inSlices(verification(await sightOf(options, family))));
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

async function ownAddresses(family: Family): Promise<readonly string[]> {
  const addresses = new Addresses();
  try {
    return await addresses.list(family);
  } finally {
    addresses.close();
  }
}
