// iptables mode in a host of a test network: the real pipeline, with programs started in that host.
import { Iptables, type IptablesVariant } from '../../src/kernel/iptables.ts';
import type { RunProcess } from '../../src/kernel/process.ts';
import type { Network } from '../../src/lab/network/network.ts';
import type { Family } from '../../src/lib/ip.ts';
import type { IptablesChange, KernelState } from '../../src/modes/iptables/diff.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { iptablesMode } from '../../src/modes/iptables/iptables.ts';
import type { IptablesPlan } from '../../src/modes/iptables/plan.ts';
import type { LocalDetector } from '../../src/modes/local-detector.ts';
import { type FamilyState, NOTHING_OWED } from '../../src/pipeline.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import { type GoldenCase, recordedDetector } from './golden.ts';

export type IptablesNode = FamilyState<IptablesFacts, IptablesPlan, KernelState, IptablesChange, Iptables>;

export interface NodeOptions {
  readonly variant?: IptablesVariant;
  readonly facts?: Partial<IptablesFacts>;
}

export function iptablesNode(
  network: Network,
  tracker: Tracker,
  family: Family,
  options: NodeOptions = {},
): IptablesNode {
  const facts: IptablesFacts = { ...defaultFacts(family), ...options.facts };
  return {
    family,
    tracker,
    identity: { nodeName: 'n1', nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' }, allowsExternalIPs: true },
    mode: iptablesMode,
    drivers: new Iptables(family, options.variant ?? 'nft', runIn(network, 'n1')),
    probe: async () => facts,
    held: undefined,
    owed: NOTHING_OWED,
  };
}

/** Starts programs in a host instead of here. */
export function runIn(network: Network, host: string): RunProcess {
  return async (program, args, options = {}) => {
    const stdin = options.input === undefined ? {} : { stdin: [...options.input].join('') };
    const { status, stdout, stderr } = await network.exec(host, [program, ...args], stdin);
    return { status: status ?? -1, stdout, stderr };
  };
}

export function defaultFacts(family: Family): IptablesFacts {
  return {
    family,
    masqueradeMark: 1 << 14,
    masqueradeAll: false,
    localhostNodePorts: family === 'IPv4',
    nodePortAddresses: { kind: 'all' },
    detector: clusterDetector(family),
    hasRandomFully: true,
    servicesPerBatch: undefined,
    conntrackIsLiberal: false,
    counters: { invalidDropped: false, localhostNodePorts: false },
  };
}

/** What the configuration of a recorded case makes of the machine's facts. */
export function goldenFacts(golden: GoldenCase, family: Family): IptablesFacts {
  return {
    ...defaultFacts(family),
    ...recordedDetector(golden, family),
    ...(golden.config && 'iptables' in golden.config && { masqueradeAll: true }),
  };
}

function clusterDetector(family: Family): LocalDetector {
  return { kind: 'source', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:10:244::/48' };
}
