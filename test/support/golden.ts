// The recorded clusters of test/golden/clusters: reading them, what the API server would add, and comparing rules.
import { readdirSync, readFileSync } from 'node:fs';
import type { Family } from '../../src/lib/ip.ts';
import type { LocalDetector } from '../../src/modes/local-detector.ts';

export interface GoldenCase {
  readonly name: string;
  readonly about: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly steps: readonly GoldenStep[];
}

export interface GoldenStep {
  readonly delete?: readonly Manifest[];
  readonly apply?: readonly Manifest[];
  /** Seconds. */
  readonly wait?: number;
  readonly probes?: readonly GoldenProbe[];
}

export interface Manifest {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace?: string };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export type GoldenProbe = GoldenTarget & {
  readonly expect: Expected | { readonly iptables: Expected; readonly nftables: Expected };
};

export type GoldenTarget =
  | {
      readonly from: string;
      readonly proto: 'tcp' | 'udp';
      readonly to: string;
      readonly bind?: string;
      readonly count?: number;
    }
  | { readonly from: string; readonly http: string };

export interface Expected {
  readonly answered?: Readonly<Record<string, readonly string[]>>;
  readonly failed?: readonly string[];
  readonly status?: number;
  readonly body?: unknown;
  readonly weight?: string;
  readonly error?: string;
}

const FOLDER = new URL('../golden/clusters/', import.meta.url);

export function goldenCases(): readonly GoldenCase[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  return files.sort().map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as GoldenCase);
}

/** The rules recorded after a step. */
export function recordedRules(golden: GoldenCase, step: number, family: 'IPv4' | 'IPv6'): string {
  const part = step === golden.steps.length - 1 ? '' : `.step${step + 1}`;
  return readFileSync(
    new URL(`${golden.name}${part}.${family === 'IPv4' ? 'iptables' : 'ip6tables'}-save`, FOLDER),
    'utf8',
  );
}

export function expectedIn(mode: 'iptables' | 'nftables', probe: GoldenProbe): Expected {
  return 'iptables' in probe.expect ? probe.expect[mode] : (probe.expect as Expected);
}

/** The same, asked with as much patience as what is expected deserves: only a dropped packet is worth no long wait. */
export function patient<T extends GoldenTarget>(probe: T, { failed }: Expected): T & { readonly timeoutMs: number } {
  return { ...probe, timeoutMs: failed?.includes('timeout') ? 1200 : 10_000 };
}

/** `NodeCIDR` in a recorded configuration: the pods of n1. */
export function recordedDetector({ config }: GoldenCase, family: Family): { detector?: LocalDetector } {
  const cidr = family === 'IPv4' ? '10.244.1.0/24' : 'fd00:10:244:1::/64';
  return config?.detectLocalMode === 'NodeCIDR' ? { detector: { kind: 'source', cidr } } : {};
}

/** What is in every recorded cluster. */
export const GOLDEN_NODES: readonly Manifest[] = [
  node('n1', 'za', ['192.168.50.1', 'fd00:50::1'], ['10.244.1.0/24', 'fd00:10:244:1::/64']),
  node('n2', 'zb', ['192.168.50.2', 'fd00:50::2'], ['10.244.2.0/24', 'fd00:10:244:2::/64']),
];

export const GOLDEN_BASE: readonly Manifest[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'default', name: 'kubernetes' },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: 'kubernetes', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.168.50.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443 }],
  },
];

export const GOLDEN_SERVICE_CIDRS: Manifest = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: 'kubernetes' },
  spec: { cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
};

/** The proxy's configuration, over which a case lays its own. */
export const GOLDEN_CONFIG: Readonly<Record<string, unknown>> = {
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  hostnameOverride: 'n1',
  clusterCIDR: '10.244.0.0/16,fd00:10:244::/48',
  healthzBindAddress: '0.0.0.0:10256',
  metricsBindAddress: '127.0.0.1:10249',
  iptables: { minSyncPeriod: '100ms' },
  nftables: { minSyncPeriod: '100ms' },
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
};

function node(name: string, zone: string, ips: readonly string[], podCIDRs: readonly string[]): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'topology.kubernetes.io/zone': zone } },
    spec: { podCIDR: podCIDRs[0], podCIDRs },
    status: { addresses: ips.map((address) => ({ type: 'InternalIP', address })) },
  };
}

const SORTED_CHAINS = ['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-EXTERNAL-SERVICES', 'KUBE-PROXY-FIREWALL'];
const TABLES = ['nat', 'filter', 'mangle'];

/** iptables-save text in the form the recorded files have; without the nfacct counters, which only some kernels have, unless asked for. */
export function normalisedRules(save: string, keepsCounters = false): string {
  const tables = new Map<string, { chains: string[]; rules: Map<string, string[]> }>();
  let current = { chains: [] as string[], rules: new Map<string, string[]>() };
  for (const line of save.split('\n').map((text) => text.trimEnd())) {
    if (line.startsWith('*')) {
      current = { chains: [], rules: new Map() };
      tables.set(line.slice(1), current);
    } else if (line.startsWith(':')) current.chains.push(line.replace(/ \[\d+:\d+\]$/, ''));
    else if (line.startsWith('-A ') && (keepsCounters || !line.includes('localhost_nps_accepted_pkts'))) {
      const rule = keepsCounters ? line : line.replace(/ -m nfacct --nfacct-name +\S+/, '');
      const chain = rule.split(' ')[1]!;
      current.rules.set(chain, [...(current.rules.get(chain) ?? []), rule]);
    }
  }
  return TABLES.flatMap((name) => {
    const table = tables.get(name) ?? { chains: [], rules: new Map<string, string[]>() };
    const rules = [...table.rules.keys()].sort().flatMap((chain) => {
      const inChain = table.rules.get(chain)!;
      return SORTED_CHAINS.includes(chain) ? sortedByServicePort(inChain) : inChain;
    });
    return [`*${name}`, ...table.chains.sort(), ...rules, 'COMMIT'];
  }).join('\n');
}

/** A stable sort, so that the order within a service port stays; the jump to the node ports stays last. */
function sortedByServicePort(rules: readonly string[]): readonly string[] {
  const key = (rule: string): string => {
    if (rule.includes('NOTE: this must be the last rule')) return '~';
    const comment = /--comment (?:"([^"]*)"|(\S+))/.exec(rule);
    return `${(comment?.[1] ?? comment?.[2] ?? '').split(' ')[0]} ${/-p (\S+)/.exec(rule)?.[1]}`;
  };
  return [...rules].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
