// What IPVS mode needs of a host before its first sync, beside the kernel settings of node/tuning.ts.
import type { IpvsConfiguration } from '../../config/configuration.ts';
import { KernelError } from '../../kernel/error.ts';
import type { IpSets } from '../../kernel/ipset.ts';
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { IpvsTimeouts } from '../../kernel/ipvs-codec.ts';
import { inWholeSeconds } from '../../lib/duration.ts';
import { DEFAULT_SCHEDULER } from './facts.ts';

export interface StartupDrivers {
  readonly ipvs: Ipvs;
  readonly sets: IpSets;
}

/** Throws where IPVS mode cannot work on this host, and says why. */
export async function prepareHost(drivers: StartupDrivers, configuration: IpvsConfiguration): Promise<void> {
  const { ipvs, sets } = drivers;
  const unusable = await sets.unusableBecause();
  if (unusable) throw cannotUse(`IP sets do not work here: ${unusable}`);
  const scheduler = configuration.scheduler || DEFAULT_SCHEDULER;
  if (!(await ipvs.hasScheduler(scheduler))) {
    throw cannotUse(
      `the kernel has no scheduler "${scheduler}" (module ip_vs_${scheduler}): no such file or directory`,
    );
  }
  const timeouts = timeoutsOf(configuration);
  if (Math.max(timeouts.tcp, timeouts.tcpFin, timeouts.udp) > 0) await ipvs.send([ipvs.requests.setTimeouts(timeouts)]);
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
