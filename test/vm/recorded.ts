// The recorded IPVS scenarios: reading them, the facts they were recorded under, and where Portolan departs from them.
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type Family, familyOf } from '../../src/lib/ip.ts';
import type { IpvsFacts } from '../../src/modes/ipvs/facts.ts';
import type { Manifest } from '../support/golden.ts';

export interface IpvsScenario {
  readonly name: string;
  readonly about: string;
  /** YAML over the basic configuration. */
  readonly config: string;
  readonly steps: readonly IpvsScenarioStep[];
}

export interface IpvsScenarioStep {
  readonly apply?: readonly Manifest[];
  readonly delete?: readonly { readonly kind: string; readonly namespace: string; readonly name: string }[];
  readonly note?: string;
}

/** What the kernel held, each in lines whose order has no meaning, except for the rules. */
export interface RecordedState {
  readonly servers: readonly string[];
  readonly sets: readonly string[];
  readonly addresses: readonly string[];
  readonly rules: Readonly<Record<Family, readonly string[]>>;
}

const FOLDER = new URL('../golden/ipvs/', import.meta.url);

export function ipvsScenarios(): readonly IpvsScenario[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  return files.sort().map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as IpvsScenario);
}

export const NODE_ADDRESSES: Readonly<Record<Family, readonly string[]>> = {
  IPv4: ['10.244.1.1', '192.168.50.1'],
  IPv6: ['fd00:244:1::1', 'fd00:50::1'],
};

export function factsOf({ name, config }: IpvsScenario, step: number, family: Family): IpvsFacts {
  const settings =
    name === 'scheduler-change' ? { ipvs: { scheduler: step === 0 ? 'lc' : 'mh' } } : parse(config || '{}');
  const { ipvs = {}, iptables = {}, nodePortAddresses = [], clusterCIDR = '10.244.0.0/16' } = settings as Settings;
  const cidr = clusterCIDR.split(',').find((text) => text !== '' && familyOf(text) === family);
  const all = NODE_ADDRESSES[family];
  // `primary` and the one network that is recorded both stand for eth0's address, and say nothing of IPv6 networks.
  const isOfEth0 = (ip: string): boolean =>
    ip === '192.168.50.1' || (ip === 'fd00:50::1' && nodePortAddresses[0] === 'primary');
  const isLimited = nodePortAddresses.length > 0 && (family === 'IPv4' || nodePortAddresses[0] === 'primary');
  return {
    family,
    nodeName: 'n1',
    scheduler: ipvs.scheduler ?? 'rr',
    masqueradeMark: 1 << 14,
    masqueradeAll: iptables.masqueradeAll ?? false,
    detector: cidr === undefined ? { kind: 'none' } : { kind: 'source', cidr },
    hasRandomFully: true,
    excludeCIDRs: family === 'IPv4' ? (ipvs.excludeCIDRs ?? []) : [],
    nodeAddresses: all,
    nodePortAddresses: isLimited ? all.filter(isOfEth0) : all,
  };
}

interface Settings {
  readonly ipvs?: { readonly scheduler?: string; readonly excludeCIDRs?: readonly string[] };
  readonly iptables?: { readonly masqueradeAll?: boolean };
  readonly nodePortAddresses?: readonly string[];
  readonly clusterCIDR?: string;
}

/** What was recorded after a step, by the title of its section. */
export function recordedSections({ name }: IpvsScenario, step: number): (title: string) => string {
  const text = readFileSync(new URL(`${name}.txt`, FOLDER), 'utf8');
  const parts = text.split(/^# step \d+$/m);
  const part = parts.length === 1 ? parts[0]! : parts[step + 1]!;
  const sections = new Map(
    part
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const end = section.indexOf('\n');
        return [section.slice(0, end), section.slice(end + 1)];
      }),
  );
  return (title) => sections.get(title) ?? '';
}

export function recordedState(scenario: IpvsScenario, step: number): RecordedState {
  const text = recordedSections(scenario, step);
  const of = (title: string): readonly string[] =>
    text(title)
      .split('\n')
      .filter((line) => line !== '');
  const departures = DEPARTURES.filter((departure) => departure.scenario === scenario.name && departure.step === step);
  const gone = new Set(departures.flatMap(({ without }) => without));
  return {
    servers: [
      ...normalServers(of('ipvsadm-save')).filter((line) => !gone.has(line)),
      ...departures.flatMap((departure) => departure.with ?? []),
    ].sort(),
    sets: normalSets(of('ipset-save')),
    addresses: of('kube-ipvs0')
      .flatMap((line) => /^\s+inet6? (\S+)/.exec(line)?.[1] ?? [])
      .sort(),
    rules: {
      IPv4: normalRules([...of('iptables-nat'), ...of('iptables-filter')]),
      IPv6: normalRules([...of('ip6tables-nat'), ...of('ip6tables-filter')]),
    },
  };
}

/** Without servers that are draining. */
export function normalServers(lines: readonly string[]): string[] {
  return lines
    .filter((line) => line !== '' && !line.endsWith(' -w 0'))
    .map((line) => line.trimEnd())
    .sort();
}

/** Without what kernels and versions of the tool add. */
export function normalSets(lines: readonly string[]): string[] {
  return lines
    .filter((line) => line !== '')
    .map((line) => line.replace(/ bucketsize.*$/, ''))
    .sort();
}

/** Rules of each chain in order, the chains by name, without what others put there and what Portolan adds for local clients. */
export function normalRules(lines: readonly string[]): string[] {
  let table = '';
  const rules: [chain: string, rule: string][] = [];
  for (const line of lines) {
    if (line.startsWith('*')) table = line.slice(1);
    else if (line.startsWith('-A ') && line.includes('KUBE-') && !line.includes(LOCAL_CLIENTS)) {
      rules.push([`${table} ${line.split(' ')[1]}`, `${table} ${line.trimEnd()}`]);
    } else if (line.startsWith(':KUBE-') && !line.includes(LOCAL_CLIENTS)) {
      rules.push([`${table} ${line.slice(1).split(' ')[0]}`, `${table} ${line.split(' ')[0]}`]);
    }
  }
  return rules.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, rule]) => rule);
}

const LOCAL_CLIENTS = 'KUBE-LOCAL-CLIENTS';

interface Departure {
  readonly scenario: string;
  readonly step: number;
  readonly because: string;
  /** Recorded lines that Portolan leaves out. */
  readonly without: readonly string[];
  /** Lines in their place. */
  readonly with?: readonly string[];
}

const LOCAL_STAYS_LOCAL = 'policy Local never leads to another node; upstream falls back to all endpoints';

/** Everywhere else the states are equal, but for the chain KUBE-LOCAL-CLIENTS, which upstream does not have. */
export const DEPARTURES: readonly Departure[] = [
  {
    scenario: 'internal-traffic-policy-local',
    step: 1,
    because: LOCAL_STAYS_LOCAL,
    without: ['-a -t 10.96.10.17:80 -r 10.244.2.11:8080 -m -w 1'],
  },
  {
    scenario: 'external-traffic-policy-local',
    step: 1,
    because: LOCAL_STAYS_LOCAL,
    without: ['10.244.1.1:30086', '192.168.50.1:30086', '203.0.113.6:80'].flatMap((frontend) =>
      ['10.244.2.11', '10.244.2.12'].map((ip) => `-a -t ${frontend} -r ${ip}:8080 -m -w 1`),
    ),
  },
  {
    scenario: 'proxy-restart',
    step: 0,
    because: 'a weight set by hand is put right whenever the kernel is read; upstream does so only when it starts',
    without: ['-a -t 10.96.11.1:80 -r 10.244.1.11:8080 -m -w 5'],
    with: ['-a -t 10.96.11.1:80 -r 10.244.1.11:8080 -m -w 1'],
  },
];
