// In: what was probed of a host.  Out: which modes it can run and why not the others, and everything else worth knowing
// before a swap. Pure.
import { describeLeftover } from '../kernel/leftovers.ts';
import { FAMILIES, type Family } from '../lib/ip.ts';
import { isAtLeast } from '../lib/version.ts';
import type { ModeName } from '../modes/mode.ts';
import { nftablesProblem } from '../node/warnings.ts';
import { HEALTHZ_PORT, IPVS_MODULES, METRICS_PORT, type Probes } from './check-probe.ts';

/** good: as it should be. note: works, and somebody should know. bad: something will not work. */
export type State = 'good' | 'note' | 'bad';

export interface Finding {
  readonly what: string;
  readonly state: State;
  readonly detail: string;
}

export interface ModeVerdict {
  readonly mode: ModeName;
  readonly isUsable: boolean;
  /** Why not; or what it would use. */
  readonly detail: string;
}

export interface Report {
  readonly mode: ModeName;
  /** Whether the mode asked for can run here. */
  readonly isUsable: boolean;
  readonly modes: readonly ModeVerdict[];
  readonly findings: readonly Finding[];
}

export function reportOf(mode: ModeName, probes: Probes): Report {
  const modes = (['iptables', 'nftables', 'ipvs', 'userspace'] as const).map((name) => verdict(name, probes));
  return {
    mode,
    isUsable: modes.find((one) => one.mode === mode)!.isUsable,
    modes,
    findings: [
      { what: 'kernel', state: 'good', detail: probes.kernelVersion },
      ipv6Finding(probes),
      ...iptablesFindings(probes),
      ...conntrackFindings(probes),
      ...capabilityFindings(probes),
      ...sysctlFindings(probes),
      ...runningFindings(probes),
      ...probes.leftovers.map((one): Finding => ({ what: 'leftovers', state: 'note', detail: describeLeftover(one) })),
    ],
  };
}

function verdict(mode: ModeName, probes: Probes): ModeVerdict {
  if (typeof probes.trials === 'string') {
    return { mode, isUsable: false, detail: `could not be tried: ${probes.trials}; run this as root` };
  }
  const problems = mode === 'nftables' ? nftablesProblems(probes) : iptablesProblems(probes);
  if (mode === 'ipvs') problems.push(...ipvsProblems(probes));
  const uses = mode === 'nftables' ? 'over netlink, no nft program needed' : probes.variant.reason;
  return { mode, isUsable: problems.length === 0, detail: problems.length === 0 ? uses : problems.join('; ') };
}

/** Families that the kernel has; a family that only the host's tools lack is a problem, one without a kernel is not. */
function families({ ipv6 }: Probes): readonly Family[] {
  return ipv6 === 'usable' ? FAMILIES : ['IPv4'];
}

function iptablesProblems(probes: Probes): string[] {
  if (typeof probes.trials === 'string') return [probes.trials];
  const variant = probes.trials.iptables[probes.variant.variant];
  return families(probes).flatMap((family) => {
    const { problem, missing } = variant[family];
    if (problem !== undefined) return [`${family}: ${problem}`];
    return missing.length > 0 ? [`${family}: the kernel lacks ${missing.join(', ')}`] : [];
  });
}

function nftablesProblems(probes: Probes): string[] {
  if (typeof probes.trials === 'string') return [probes.trials];
  const { nftables } = probes.trials;
  const refused = families(probes).flatMap((family) => {
    const problem = nftables[family];
    return problem === undefined ? [] : [`${family}: ${problem}`];
  });
  const tooOld = nftablesProblem(probes.kernelVersion, process.env);
  return [...(tooOld === undefined ? [] : [`${tooOld}, this is ${probes.kernelVersion}`]), ...refused];
}

const OLDEST_IPSET = '6.0';

function ipvsProblems({ modules, ipsetVersion }: Probes): string[] {
  const missing = IPVS_MODULES.filter((name) => modules[name] === 'absent');
  const ipset =
    ipsetVersion === undefined
      ? ['ipset is not installed']
      : isAtLeast(ipsetVersion, OLDEST_IPSET)
        ? []
        : [`ipset version: ${ipsetVersion} is less than min required version: ${OLDEST_IPSET}`];
  return [...(missing.length > 0 ? [`the kernel has no ${missing.join(', ')}`] : []), ...ipset];
}

function ipv6Finding({ ipv6 }: Probes): Finding {
  const detail = {
    usable: 'usable',
    absent: 'not in the kernel',
    disabled: 'disabled by net.ipv6.conf.all.disable_ipv6',
  };
  return { what: 'IPv6', state: ipv6 === 'usable' ? 'good' : 'note', detail: detail[ipv6] };
}

function iptablesFindings({ trials, variant, nftVersion }: Probes): readonly Finding[] {
  const nft: Finding = { what: 'nft', state: 'good', detail: nftVersion ?? 'not installed (only people need it)' };
  if (typeof trials === 'string') return [nft];
  const names = variant.variant === 'auto' ? (['auto'] as const) : (['nft', 'legacy'] as const);
  const variants = names.map((name): Finding => {
    const isUsed = variant.variant === name;
    const { IPv4, IPv6 } = trials.iptables[name];
    const problem = IPv4.problem ?? IPv6.problem;
    const missing = [...new Set([...IPv4.missing, ...IPv6.missing])];
    const works =
      problem ?? (missing.length > 0 ? `the kernel lacks ${missing.join(', ')}` : `${IPv4.version}, all matches`);
    const isBad = problem !== undefined || missing.length > 0;
    return {
      what: name === 'auto' ? 'iptables' : `iptables-${name}`,
      state: isBad ? (isUsed ? 'bad' : 'note') : 'good',
      detail: isUsed ? `${works}; to be used` : works,
    };
  });
  return [...variants, nft];
}

function conntrackFindings({ trials, sysctls }: Probes): readonly Finding[] {
  const max = sysctls['net/netfilter/nf_conntrack_max'];
  if (typeof trials === 'string') return [];
  return [
    trials.conntrack === undefined
      ? {
          what: 'conntrack',
          state: 'good',
          detail: `over netlink, room for ${max ?? 'an unknown number of'} connections`,
        }
      : { what: 'conntrack', state: 'bad', detail: `${trials.conntrack}: stale UDP flows cannot be removed` },
    trials.nfacct === undefined
      ? { what: 'nfacct', state: 'good', detail: 'packet counters for two metrics of iptables mode' }
      : { what: 'nfacct', state: 'note', detail: `${trials.nfacct}: two metrics of iptables mode are left out` },
  ];
}

function capabilityFindings({ capabilities, variant }: Probes): readonly Finding[] {
  const has = (name: Probes['capabilities'][number]): boolean => capabilities.includes(name);
  const needsRaw = variant.variant === 'legacy' && !has('NET_RAW');
  return [
    {
      what: 'capabilities',
      state: has('NET_ADMIN') && !needsRaw ? 'good' : 'note',
      detail:
        `this process has ${capabilities.length > 0 ? capabilities.join(', ') : 'none'}` +
        `${has('NET_ADMIN') ? '' : '; the agent needs NET_ADMIN'}${needsRaw ? '; iptables-legacy needs NET_RAW' : ''}`,
    },
  ];
}

function sysctlFindings({ sysctls }: Probes): readonly Finding[] {
  const findings: Finding[] = [];
  if (sysctls['net/ipv4/ip_forward'] === '0')
    findings.push({
      what: 'sysctls',
      state: 'bad',
      detail: 'net.ipv4.ip_forward is 0: pods on other nodes are out of reach',
    });
  if (sysctls['net/bridge/bridge-nf-call-iptables'] === '0')
    findings.push({
      what: 'sysctls',
      state: 'note',
      detail: 'net.bridge.bridge-nf-call-iptables is 0: if pods share a bridge, services lose replies between them',
    });
  const rest = Object.entries(sysctls).map(([name, value]) => `${name.split('/').at(-1)}=${value}`);
  return [...findings, { what: 'sysctls', state: 'good', detail: rest.join(' ') }];
}

function runningFindings({ portolan, runningProxy, portsInUse }: Probes): readonly Finding[] {
  const findings: Finding[] = [];
  if (portolan)
    findings.push({
      what: 'running',
      state: 'note',
      detail: `Portolan (pid ${portolan.pid}, ${portolan.mode} mode) since ${portolan.since}; a second one would wait for it`,
    });
  else if (runningProxy !== undefined)
    findings.push({
      what: 'running',
      state: 'note',
      detail: `a kube-proxy in ${runningProxy} mode; stop it before Portolan starts, or they undo each other's rules`,
    });
  for (const port of portsInUse) {
    const whose = port === METRICS_PORT ? 'metrics' : port === HEALTHZ_PORT ? 'health' : '';
    const isExpected = portolan !== undefined || runningProxy !== undefined;
    findings.push({
      what: `port ${port}`,
      state: isExpected ? 'note' : 'bad',
      detail: `in use${isExpected ? ', as expected while that proxy runs' : `: the ${whose} server could not start`}`,
    });
  }
  if (portsInUse.length === 0)
    findings.push({ what: 'ports', state: 'good', detail: `${METRICS_PORT} and ${HEALTHZ_PORT} are free` });
  return findings;
}
