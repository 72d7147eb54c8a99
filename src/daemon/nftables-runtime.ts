// nftables mode at work in one family.
import { once } from 'node:events';
import type { Nftables } from '../kernel/nftables.ts';
import type { NftEvent } from '../kernel/nftables-objects.ts';
import { readSysctlIfAny } from '../kernel/sysctl.ts';
import { isAtLeast } from '../lib/version.ts';
import { NftablesDriver } from '../modes/nftables/apply.ts';
import type { KernelState, NftablesChange } from '../modes/nftables/diff.ts';
import type { NftablesFacts } from '../modes/nftables/facts.ts';
import { nftablesMode } from '../modes/nftables/nftables.ts';
import type { NftablesPlan } from '../modes/nftables/plan.ts';
import { type Count, type FrontendTraffic, TrafficTotals } from '../modes/nftables/traffic.ts';
import { familyNodePorts, nftablesFacts } from '../node/facts.ts';
import type { CountedServices } from '../observe/service-metrics.ts';
import type { FamilyState } from '../pipeline.ts';
import { commonRuntime, type ModeRuntime, type RuntimeOptions, untouched } from './runtime.ts';

export interface NftablesRuntimeOptions extends RuntimeOptions {
  readonly nftables: Nftables;
  /** `6.1.0-13-amd64` */
  readonly kernelVersion: string;
  /** Addresses of all interfaces of this host. */
  readonly hostIps: () => Promise<readonly string[]>;
}

/** Longer than any packet is under way in the kernel, even one whose process has to wait for a CPU. */
const LINGER_MS = 1000;

export function nftablesRuntime(options: NftablesRuntimeOptions): ModeRuntime {
  const { family, settings, kernelVersion } = options;
  const hasCounters = settings.configuration.portolan.serviceMetrics && isAtLeast(kernelVersion, '5.7');
  const driver = new NftablesDriver(options.nftables, family, hasCounters, LINGER_MS);
  const totals = new TrafficTotals();
  const probe = async (): Promise<NftablesFacts> =>
    nftablesFacts(settings, family, {
      hasCounters,
      releasesChainsAtOnce: isAtLeast(kernelVersion, '6.2'),
      routesLocalnet: readSysctlIfAny('net/ipv4/conf/all/route_localnet') === '1',
      hostIps: familyNodePorts(settings, family).matchAll ? [] : await options.hostIps(),
    });
  const state: FamilyState<NftablesFacts, NftablesPlan, KernelState, NftablesChange, NftablesDriver> = untouched(
    options,
    {
      mode: nftablesMode,
      drivers: driver,
      probe,
    },
  );
  return {
    ...commonRuntime(state, () => {}),
    checksHourly: true,
    watch: async (listener, signal) => {
      const subscription = driver.watch((event: NftEvent) => {
        if (event.kind === 'overrun') listener.doubted('the kernel had more to report than could be read');
        // Until the first sync the table is not ours to defend, and one that is being mended need not be reported again.
        else if (state.held !== undefined)
          listener.changed(`${event.isRemoval ? 'removed' : 'added or changed'}: ${event.object}`);
      });
      const sweeping = setInterval(() => {
        driver.sweep().catch(() => listener.leftBehind('endpoints that had gone could not be deleted'));
      }, LINGER_MS);
      await once(signal, 'abort');
      clearInterval(sweeping);
      subscription.close();
    },
    measure: () => {},
    ...(hasCounters && {
      counts: async () => countedServices(state.plan ? await totals.read(driver, state.plan) : []),
    }),
    countFailure: (metrics) => metrics.nftablesSyncFailures.of({ ip_family: family }).increment(),
  };
}

function countedServices(traffic: readonly FrontendTraffic[]): CountedServices {
  const count = ({ connections, bytes }: Count) => ({
    connections: Number(connections),
    firstPacketBytes: Number(bytes),
  });
  return {
    frontends: traffic.map(({ port, address, ...counted }) => ({ port, frontend: address, ...count(counted) })),
    endpoints: traffic.flatMap(({ port, address, endpoints }) =>
      [...endpoints].map(([endpoint, counted]) => ({ port, frontend: address, endpoint, ...count(counted) })),
    ),
  };
}
