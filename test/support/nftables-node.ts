// nftables mode over the real pipeline, for tests: facts as in the recorded clusters, and the kernel's table in a form that compares.
import { execFileSync } from 'node:child_process';
import type { Nftables } from '../../src/kernel/nftables.ts';
import type { Family } from '../../src/lib/ip.ts';
import { NftablesDriver } from '../../src/modes/nftables/apply.ts';
import type { KernelState, NftablesChange } from '../../src/modes/nftables/diff.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { nftablesMode } from '../../src/modes/nftables/nftables.ts';
import type { NftablesPlan } from '../../src/modes/nftables/plan.ts';
import { type FamilyState, NOTHING_OWED } from '../../src/pipeline.ts';
import type { Tracker } from '../../src/track/tracker.ts';
import { type GoldenCase, recordedDetector } from './golden.ts';

export type NftablesNode = FamilyState<NftablesFacts, NftablesPlan, KernelState, NftablesChange, NftablesDriver>;

export function nftablesNode(
  nftables: Nftables,
  tracker: Tracker,
  family: Family,
  facts: () => Partial<NftablesFacts> = () => ({}),
  lingerMs = 0,
): NftablesNode {
  return {
    family,
    tracker,
    identity: { nodeName: 'n1', nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' }, allowsExternalIPs: true },
    mode: nftablesMode,
    drivers: new NftablesDriver(nftables, family, true, lingerMs),
    probe: async () => ({ ...nftablesFacts(family), ...facts() }),
    held: undefined,
    owed: NOTHING_OWED,
  };
}

export function nftablesFacts(family: Family): NftablesFacts {
  return {
    family,
    masqueradeMark: 1 << 14,
    masqueradeAll: false,
    nodePortAddresses: { kind: 'some', ips: family === 'IPv4' ? ['192.168.50.1'] : ['fd00:50::1'] },
    localhostNodePorts: false,
    detector: { kind: 'source', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:10:244::/48' },
    hasCounters: true,
    releasesChainsAtOnce: true,
  };
}

/** What `nft` lists, with elements, sets and chains in order, and without counts: the kernel keeps them in an order of its own. */
export function listTable(family: Family): string {
  const text = execFileSync('nft', ['list', 'table', family === 'IPv4' ? 'ip' : 'ip6', 'kube-proxy'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return normalisedTable(text);
}

export function normalisedTable(text: string): string {
  const blocks = text
    .replace(/ counter packets \d+ bytes \d+/g, '')
    .replace(/elements = \{ ([^}]*) \}/g, (_, elements: string) => {
      const sorted = elements.split(/,\s+/).sort();
      return `elements = {\n${sorted.map((element) => `\t\t\t${element}`).join('\n')}\n\t\t}`;
    })
    .split('\n\n');
  return blocks
    .map((block) =>
      block
        .replace(/^table .*\n\tcomment .*\n/, '')
        .replace(/\n\}\n$/, '')
        .trim(),
    )
    .sort()
    .join('\n\n');
}

/** What the configuration of a recorded case makes of the machine's facts. */
export function goldenNftablesFacts(golden: GoldenCase, family: Family): NftablesFacts {
  return {
    ...nftablesFacts(family),
    ...recordedDetector(golden, family),
    ...(golden.config && 'nftables' in golden.config && { masqueradeAll: true }),
  };
}
