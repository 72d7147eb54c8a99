// What the kernel lets us do, tried for real. This file is a program: `portolan check` starts it in a network namespace made
// for it, which ends with it, so that nothing it tries can touch the host's own rules. Out: Trials as JSON on standard output.
import { networkInterfaces } from 'node:os';
import { Conntrack } from '../kernel/conntrack.ts';
import { Iptables, type IptablesVariant } from '../kernel/iptables.ts';
import { Nfacct } from '../kernel/nfacct.ts';
import { Nftables } from '../kernel/nftables.ts';
import type { NftOperation, NftSet } from '../kernel/nftables-objects.ts';
import { FAMILIES, type Family } from '../lib/ip.ts';

/** Undefined: it works. Text: why it does not. */
export type Outcome = string | undefined;

export interface Trials {
  readonly iptables: Readonly<Record<IptablesVariant, Readonly<Record<Family, IptablesTrial>>>>;
  readonly nftables: Readonly<Partial<Record<Family, Outcome>>>;
  readonly conntrack?: string;
  readonly nfacct?: string;
}

export interface IptablesTrial {
  /** '' where it is not installed. */
  readonly version: string;
  readonly problem?: string;
  /** Matches and targets that rules of Portolan use and this kernel refuses. */
  readonly missing: readonly string[];
}

/** A namespace made a moment ago has no device but a loopback that is down, and so no address that is up. */
function isFreshNamespace(): boolean {
  return Object.keys(networkInterfaces()).length === 0;
}

if (!isFreshNamespace()) {
  process.stderr.write(
    'this program tries rules out, so it runs in a network namespace of its own: use `portolan check`\n',
  );
  process.exit(1);
}

const PARTS: Readonly<Record<string, string>> = {
  comment: '-m comment --comment check',
  statistic: '-m statistic --mode random --probability 0.5',
  recent: '-m recent --name KUBE-CHECK --rcheck --seconds 10 --reap',
  addrtype: '-m addrtype --dst-type LOCAL',
  conntrack: '-m conntrack --ctstate RELATED,ESTABLISHED',
  mark: '-m mark --mark 0x4000/0x4000',
  'target MARK': '-j MARK --or-mark 0x4000',
  'target MASQUERADE': '-j MASQUERADE',
};

async function tryIptables(family: Family, variant: IptablesVariant): Promise<IptablesTrial> {
  const iptables = new Iptables(family, variant);
  const version = await iptables.version().then(
    ({ version }) => version,
    () => '',
  );
  if (version === '') return { version, problem: `${iptables.name} is not installed`, missing: [] };
  const problem = await iptables.unusableBecause();
  if (problem !== undefined) return { version, problem, missing: [] };
  const destination = family === 'IPv4' ? '192.0.2.1:80' : '[2001:db8::1]:80';
  const parts = Object.entries({ ...PARTS, 'target DNAT': `-p tcp -j DNAT --to-destination ${destination}` });
  const accepts = async (rules: readonly string[]): Promise<boolean> => {
    const lines = ['*nat', ':KUBE-CHECK - [0:0]', ...rules.map((rule) => `-A KUBE-CHECK ${rule}`), 'COMMIT'];
    return iptables.restore(lines).then(
      () => true,
      () => false,
    );
  };
  if (await accepts(parts.map(([, rule]) => rule))) return { version, missing: [] };
  const missing: string[] = [];
  for (const [name, rule] of parts) if (!(await accepts([rule]))) missing.push(name);
  return { version, missing };
}

/** The shapes that nftables mode is made of: verdict and data maps with long keys, numgen, dnat, masquerade. */
function nftablesOperations(family: Family): readonly NftOperation[] {
  const address = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
  const [ip, to] = family === 'IPv4' ? ['192.0.2.1', '192.0.2.2'] : ['2001:db8::1', '2001:db8::2'];
  const services: NftSet = { name: 'services', key: [address, 'inet_proto', 'inet_service'], value: 'verdict' };
  const endpoints: NftSet = {
    name: 'endpoints',
    key: [address, 'inet_proto', 'inet_service', 'mark'],
    value: [address, 'inet_service'],
    hasCounters: true,
  };
  const nat = { type: 'nat', priority: -100 } as const;
  return [
    { op: 'add-table' },
    { op: 'add-chain', chain: { name: 'prerouting', base: { ...nat, hook: 'prerouting' } } },
    { op: 'add-chain', chain: { name: 'postrouting', base: { ...nat, hook: 'postrouting' } } },
    { op: 'add-chain', chain: { name: 'pick' } },
    { op: 'add-set', set: services },
    { op: 'add-set', set: endpoints },
    { op: 'add-elements', set: services, elements: [{ key: `${ip} . tcp . 80`, value: 'goto pick' }] },
    { op: 'add-elements', set: endpoints, elements: [{ key: `${ip} . tcp . 80 . 0`, value: `${to} . 8080` }] },
    {
      op: 'add-rule',
      rule: { chain: 'pick', expressions: [{ kind: 'numgen-random', modulus: 2, offset: 0, register: 1 }] },
    },
    { op: 'add-rule', rule: { chain: 'postrouting', expressions: [{ kind: 'masquerade', isFullyRandom: true }] } },
  ];
}

async function outcome(work: () => unknown): Promise<Outcome> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function tryNftables(family: Family): Promise<Outcome> {
  return outcome(async () => {
    const nftables = new Nftables();
    await nftables.commit({ family, name: 'kube-proxy' }, nftablesOperations(family)).finally(() => nftables.close());
  });
}

const perFamily = async <T>(attempt: (family: Family) => Promise<T>): Promise<Record<Family, T>> => {
  const results: Partial<Record<Family, T>> = {};
  for (const family of FAMILIES) results[family] = await attempt(family);
  return results as Record<Family, T>;
};

async function trials(): Promise<Trials> {
  const conntrack = await outcome(() => new Conntrack().visitFlows('IPv4', 'udp', () => {}));
  const nfacct = await outcome(async () => {
    if (!(await new Nfacct().isSupported())) throw new Error('the kernel has no nfnetlink_acct');
  });
  return {
    iptables: {
      auto: await perFamily((family) => tryIptables(family, 'auto')),
      nft: await perFamily((family) => tryIptables(family, 'nft')),
      legacy: await perFamily((family) => tryIptables(family, 'legacy')),
    },
    nftables: await perFamily(tryNftables),
    ...(conntrack !== undefined && { conntrack }),
    ...(nfacct !== undefined && { nfacct }),
  };
}

if (import.meta.main) {
  process.stdout.write(JSON.stringify(await trials()));
  process.exit(0);
}
