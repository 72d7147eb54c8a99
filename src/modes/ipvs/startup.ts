// What IPVS mode needs of a host before its first sync. In: the configuration and the kernel's version. Out: settings as data,
// and the effects that put them in place.
import type { IpvsConfiguration } from '../../config/configuration.ts';
import { KernelError } from '../../kernel/error.ts';
import type { IpSets } from '../../kernel/ipset.ts';
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { IpvsTimeouts } from '../../kernel/ipvs-codec.ts';
import { inWholeSeconds } from '../../lib/duration.ts';
import { isAtLeast } from '../../lib/version.ts';
import { DEFAULT_SCHEDULER } from './facts.ts';

export interface StartupDrivers {
  readonly ipvs: Ipvs;
  readonly sets: IpSets;
  /** Writes a path under /proc/sys unless it has the value already. */
  readonly ensureSysctl: (path: string, value: string) => void;
}

/** Throws where IPVS mode cannot work on this host, and says why. */
export async function prepareHost(
  drivers: StartupDrivers,
  configuration: IpvsConfiguration,
  kernelVersion: string,
): Promise<void> {
  const { ipvs, sets, ensureSysctl } = drivers;
  const unusable = await sets.unusableBecause();
  if (unusable) throw cannotUse(`IP sets do not work here: ${unusable}`);
  const scheduler = configuration.scheduler || DEFAULT_SCHEDULER;
  if (!(await ipvs.hasScheduler(scheduler))) {
    throw cannotUse(
      `the kernel has no scheduler "${scheduler}" (module ip_vs_${scheduler}): no such file or directory`,
    );
  }
  for (const [path, value] of sysctls(configuration, kernelVersion)) ensureSysctl(path, value);
  const timeouts = timeoutsOf(configuration);
  if (Math.max(timeouts.tcp, timeouts.tcpFin, timeouts.udp) > 0) await ipvs.send([ipvs.requests.setTimeouts(timeouts)]);
}

/** Paths under /proc/sys and their values. IPv6 forwarding is the administrator's. */
export function sysctls(
  { strictARP }: Pick<IpvsConfiguration, 'strictARP'>,
  kernelVersion: string,
): readonly (readonly [path: string, value: string])[] {
  // Before 5.9 a reused source port waits a second for a new real server; from then on the kernel does it right.
  const isReuseBroken = isAtLeast(kernelVersion, '4.1') && !isAtLeast(kernelVersion, '5.9');
  return [
    ['net/ipv4/vs/conntrack', '1'], // so that iptables can masquerade what IPVS has translated
    ...(isReuseBroken ? [['net/ipv4/vs/conn_reuse_mode', '0'] as const] : []),
    ['net/ipv4/vs/expire_nodest_conn', '1'],
    ['net/ipv4/vs/expire_quiescent_template', '1'],
    ['net/ipv4/ip_forward', '1'],
    ...(strictARP
      ? ([
          ['net/ipv4/conf/all/arp_ignore', '1'],
          ['net/ipv4/conf/all/arp_announce', '2'],
        ] as const)
      : []),
  ];
}

export function timeoutsOf({
  tcpTimeout,
  tcpFinTimeout,
  udpTimeout,
}: Pick<IpvsConfiguration, 'tcpTimeout' | 'tcpFinTimeout' | 'udpTimeout'>): IpvsTimeouts {
  return {
    tcp: inWholeSeconds(tcpTimeout),
    tcpFin: inWholeSeconds(tcpFinTimeout),
    udp: inWholeSeconds(udpTimeout),
  };
}

export function cannotUse(detail: string): KernelError {
  return new KernelError('KERNEL_UNREACHABLE', { operation: "can't use the IPVS proxier", detail });
}
