// The clusters of test/golden/derived, and the facts that node n1 of the golden network has under a case's configuration.
import { readdirSync, readFileSync } from 'node:fs';
import type { ProxyConfiguration } from '../../src/config/configuration.ts';
import { decodeDocument } from '../../src/config/decode.ts';
import { settingsOf, withPlatformDefaults } from '../../src/config/defaults.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import type { NftablesFacts } from '../../src/modes/nftables/facts.ts';
import { nodeAddresses } from '../../src/node/addresses.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from '../../src/node/facts.ts';
import { GOLDEN_CONFIG, type GoldenCase } from './golden.ts';

const FOLDER = new URL('../golden/derived/', import.meta.url);

export function derivedCases(): readonly GoldenCase[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  return files.sort().map((file) => JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as GoldenCase);
}

const HOST_IPS = ['127.0.0.1', '::1', '192.168.50.1', '10.60.0.1', 'fd00:50::1'];

/** What a case says of the proxy's configuration. */
type Configured = Pick<GoldenCase, 'config'>;

export function iptablesFactsOf(derived: Configured): Readonly<Record<Family, IptablesFacts>> {
  const settings = settingsFor(derived, 'iptables');
  const machine = {
    backend: 'nf_tables',
    isInUserNamespace: false,
    hasRandomFully: true,
    conntrackIsLiberal: false,
    counters: { invalidDropped: false, localhostNodePorts: false },
    hostIps: HOST_IPS,
  } as const;
  return perFamily((family) => iptablesFacts(settings, family, machine));
}

export function nftablesFactsOf(derived: Configured): Readonly<Record<Family, NftablesFacts>> {
  const settings = settingsFor(derived, 'nftables');
  const machine = { hasCounters: true, releasesChainsAtOnce: true, routesLocalnet: false, hostIps: HOST_IPS };
  return perFamily((family) => nftablesFacts(settings, family, machine));
}

export function settingsFor({ config }: Configured, mode: 'iptables' | 'nftables'): NodeSettings {
  const decoded = decodeDocument(JSON.stringify({ ...GOLDEN_CONFIG, ...config, mode }));
  if ('problem' in decoded) throw new Error(decoded.problem);
  return {
    configuration: withPlatformDefaults(settingsOf(decoded.document)) as ProxyConfiguration,
    addresses: nodeAddresses(['192.168.50.1', 'fd00:50::1'], ''),
    podCIDRs: ['10.244.1.0/24', 'fd00:10:244:1::/64'],
  };
}

function perFamily<T>(make: (family: Family) => T): Readonly<Record<Family, T>> {
  return Object.fromEntries(FAMILIES.map((family) => [family, make(family)])) as Record<Family, T>;
}
