// A complete configuration in, everything that is wrong with it out: all problems at once, in the order and the words
// that runbooks for kube-proxy quote.
import { parseCidr, parseIp } from '../lib/ip.ts';
import { parsePortRange } from '../lib/port-range.ts';
import { isPort, splitHostPort } from './address.ts';
import { type Settings, USERSPACE_GATE } from './configuration.ts';
import { invalid } from './problems.ts';
import { detectLocalProblems } from './validate-detect-local.ts';

const ROOT = 'KubeProxyConfiguration';
const NOT_NEGATIVE = 'must be greater than or equal to 0';
const POSITIVE = 'must be greater than 0';
/** The one release whose hidden metrics may be asked for: the minor version before ours. */
const PREVIOUS_MINOR = '1.35';

export function problemsOf(settings: Settings): readonly string[] {
  return [
    ...modeSectionProblems(settings),
    ...linuxProblems(settings),
    ...modeProblems(settings),
    ...periodProblems(settings),
    ...addressProblems(settings),
    ...nodePortAddressProblems(settings.nodePortAddresses),
    ...hiddenMetricsProblems(settings.showHiddenMetricsForVersion),
    ...detectLocalProblems(settings, ROOT),
    ...portolanProblems(settings),
    ...userspaceProblems(settings),
  ];
}

function modeSectionProblems({ mode, iptables, ipvs, nftables }: Settings): string[] {
  const problems = bitProblems(`${ROOT}.KubeProxyIPTablesConfiguration.MasqueradeBit`, iptables.masqueradeBit);
  if (mode === 'ipvs') {
    const path = `${ROOT}.KubeProxyIPVSConfiguration`;
    const timeouts = { TCPTimeout: ipvs.tcpTimeout, TCPFinTimeout: ipvs.tcpFinTimeout, UDPTimeout: ipvs.udpTimeout };
    problems.push(...negativeProblems(path, timeouts));
    for (const [i, cidr] of ipvs.excludeCIDRs.entries()) {
      if (!parseCidr(cidr)) problems.push(invalid(`${path}.ExcludeCidrs[${i}]`, cidr, 'must be a valid CIDR'));
    }
  }
  if (mode === 'nftables') {
    problems.push(...bitProblems(`${ROOT}.KubeProxyNFTablesConfiguration.MasqueradeBit`, nftables.masqueradeBit));
  }
  return problems;
}

function bitProblems(path: string, bit: number): string[] {
  return bit < 0 || bit > 31 ? [invalid(path, bit, 'must be within the range [0, 31]')] : [];
}

function linuxProblems({ conntrack, oomScoreAdj }: Settings): string[] {
  const path = `${ROOT}.KubeProxyLinuxConfiguration`;
  const problems = negativeProblems(`${path}.KubeProxyConntrackConfiguration`, {
    MaxPerCore: conntrack.maxPerCore,
    Min: conntrack.min,
    TCPEstablishedTimeout: conntrack.tcpEstablishedTimeout,
    TCPCloseWaitTimeout: conntrack.tcpCloseWaitTimeout,
    UDPTimeout: conntrack.udpTimeout,
    UDPStreamTimeout: conntrack.udpStreamTimeout,
  });
  if (oomScoreAdj < -1000 || oomScoreAdj > 1000) {
    problems.push(invalid(`${path}.OOMScoreAdj`, oomScoreAdj, 'must be within the range [-1000, 1000]'));
  }
  return problems;
}

function negativeProblems(path: string, values: Readonly<Record<string, number | bigint>>): string[] {
  return Object.entries(values)
    .filter(([, value]) => value < 0)
    .map(([name, value]) => invalid(`${path}.${name}`, value, NOT_NEGATIVE));
}

function modeProblems({ mode, featureGates }: Settings): string[] {
  if (mode === '' || mode === 'iptables' || mode === 'ipvs' || mode === 'nftables') return [];
  if (mode === 'userspace' && featureGates[USERSPACE_GATE]) return [];
  const detail =
    'must be iptables, ipvs, nftables or blank (blank means the best-available proxy [currently iptables])';
  return [invalid(`${ROOT}.Mode.ProxyMode`, mode, detail)];
}

function periodProblems(settings: Settings): string[] {
  const { clientConnection, configSyncPeriod, syncPeriod, minSyncPeriod } = settings;
  const problems = negativeProblems(`${ROOT}.ClientConnection`, { Burst: clientConnection.burst });
  if (configSyncPeriod <= 0n) problems.push(invalid(`${ROOT}.ConfigSyncPeriod`, configSyncPeriod, POSITIVE));
  if (syncPeriod <= 0n) problems.push(invalid(`${ROOT}.SyncPeriod`, syncPeriod, POSITIVE));
  problems.push(...negativeProblems(ROOT, { MinSyncPeriod: minSyncPeriod }));
  if (minSyncPeriod > syncPeriod) {
    const detail = `must be greater than or equal to ${ROOT}.MinSyncPeriod`;
    problems.push(invalid(`${ROOT}.SyncPeriod`, minSyncPeriod, detail));
  }
  return problems;
}

function addressProblems({ bindAddress, healthzBindAddress, metricsBindAddress }: Settings): string[] {
  const problems: string[] = [];
  if (!parseIp(bindAddress)) {
    problems.push(invalid(`${ROOT}.BindAddress`, bindAddress, 'not a valid textual representation of an IP address'));
  }
  // Without an address there is no health server; metrics cannot be turned off.
  if (healthzBindAddress !== '') problems.push(...hostPortProblems(`${ROOT}.HealthzBindAddress`, healthzBindAddress));
  problems.push(...hostPortProblems(`${ROOT}.MetricsBindAddress`, metricsBindAddress));
  return problems;
}

function hostPortProblems(path: string, address: string): string[] {
  const split = splitHostPort(address);
  if ('problem' in split) return [invalid(path, address, 'must be IP:port')];
  const problems: string[] = [];
  if (!parseIp(split.host)) problems.push(invalid(path, split.host, 'must be a valid IP'));
  if (!isPort(split.port, 1)) problems.push(invalid(path, split.port, 'must be a valid port'));
  return problems;
}

function nodePortAddressProblems(addresses: readonly string[]): string[] {
  const problems: string[] = [];
  for (const [i, address] of addresses.entries()) {
    const path = `${ROOT}.NodePortAddresses[${i}]`;
    if (address === 'primary') {
      if (addresses.length > 1) problems.push(invalid(path, address, "can't use both 'primary' and CIDRs"));
      break;
    }
    if (!parseCidr(address)) problems.push(invalid(path, address, 'must be a valid CIDR'));
  }
  return problems;
}

function hiddenMetricsProblems(version: string): string[] {
  if (version === '' || version === PREVIOUS_MINOR) return [];
  const reason = invalid(
    'showHiddenMetricsForVersion',
    version,
    `must be omitted or have the value '${PREVIOUS_MINOR}'; only the previous minor version is allowed`,
  );
  return [invalid(`${ROOT}.ShowHiddenMetricsForVersion`, version, `invalid showHiddenMetricsForVersion: ${reason}`)];
}

function portolanProblems({ portolan }: Settings): string[] {
  const { consoleBindAddress } = portolan;
  return consoleBindAddress === '' ? [] : hostPortProblems(`${ROOT}.portolan.consoleBindAddress`, consoleBindAddress);
}

/** Other modes ignore these, as upstream ignores the port range. */
function userspaceProblems({ mode, portRange, portolan }: Settings): string[] {
  if (mode !== 'userspace') return [];
  const problems: string[] = [];
  if (!parsePortRange(portRange)) {
    problems.push(invalid(`${ROOT}.PortRange`, portRange, 'must be N, A-B or A+n, with ports up to 65535'));
  }
  if (portolan.udpIdleTimeout <= 0n) {
    problems.push(invalid(`${ROOT}.portolan.udpIdleTimeout`, portolan.udpIdleTimeout, POSITIVE));
  }
  return problems;
}
