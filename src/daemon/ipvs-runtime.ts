// IPVS mode at work in one family, and what both families share: the drivers, and the host made ready for them.
import type { IpvsConfiguration } from '../config/configuration.ts';
import { IpSets } from '../kernel/ipset.ts';
import { Ipvs } from '../kernel/ipvs.ts';
import type { IpvsTraffic } from '../kernel/ipvs-codec.ts';
import { Links } from '../kernel/links.ts';
import { DEVICE, type IpvsDrivers } from '../modes/ipvs/apply.ts';
import type { IpvsChange, IpvsState } from '../modes/ipvs/diff.ts';
import { DrainList } from '../modes/ipvs/drain.ts';
import { foundDifference } from '../modes/ipvs/drift.ts';
import { type IpvsFacts, ipvsFacts } from '../modes/ipvs/facts.ts';
import { ipvsMode } from '../modes/ipvs/ipvs.ts';
import type { IpvsPlan } from '../modes/ipvs/plan.ts';
import { cannotUse, prepareHost } from '../modes/ipvs/startup.ts';
import { type FrontendTraffic, readTraffic } from '../modes/ipvs/traffic.ts';
import type { CountedServices } from '../observe/service-metrics.ts';
import type { FamilyState } from '../pipeline.ts';
import { commonRuntime, type ModeRuntime, type RulesRuntimeOptions, untouched } from './runtime.ts';

/** Shared by both families. */
export type IpvsHost = Pick<IpvsDrivers, 'ipvs' | 'sets' | 'links'>;

/** Throws if the kernel has no IPVS. Where it is a module, asking loads it, and its settings are there from then on. */
export async function requireIpvs(): Promise<void> {
  (await openIpvs()).close();
}

async function openIpvs(): Promise<Ipvs> {
  const ipvs = await Ipvs.open();
  if (!ipvs) throw cannotUse('ipvs not supported by the kernel (module ip_vs)');
  return ipvs;
}

/** Opens the drivers and checks that IPVS mode can work here. Throws with the reason if it cannot. */
export async function openIpvsHost(configuration: IpvsConfiguration): Promise<IpvsHost> {
  const host = { ipvs: await openIpvs(), sets: new IpSets(), links: new Links() };
  await prepareHost(host, configuration);
  return host;
}

export interface IpvsRuntimeOptions extends RulesRuntimeOptions {
  readonly host: IpvsHost;
}

const DRAIN_CHECK_MS = 10_000;

export function ipvsRuntime(options: IpvsRuntimeOptions): ModeRuntime {
  const { family, host, iptables, identity, settings, clock, log } = options;
  const drivers: IpvsDrivers = { family, ...host, iptables, drain: new DrainList(host.ipvs) };
  const probe = async (): Promise<IpvsFacts> =>
    ipvsFacts(settings, family, {
      nodeName: identity.nodeName,
      hasRandomFully: (await iptables.version()).hasRandomFully,
      addresses: await host.links.addresses(family),
      device: (await host.links.device(DEVICE))?.index,
    });
  const state: FamilyState<IpvsFacts, IpvsPlan, IpvsState, IpvsChange, IpvsDrivers> = untouched(options, {
    mode: ipvsMode,
    drivers,
    probe,
  });

  return {
    ...commonRuntime(state, () => {}),
    checksHourly: true,
    watch: async (listener, signal) => {
      const lookForDrift = async (): Promise<void> => {
        // While a sync is under way, or has failed, there is nothing to compare with; it will see for itself.
        const found = await foundDifference(drivers, () => (state.held === state.plan ? state.plan : undefined));
        if (found) listener.changed(found);
      };
      let untilLookMs = options.syncPeriodMs;
      while (!signal.aborted) {
        await clock.wait(Math.min(DRAIN_CHECK_MS, options.syncPeriodMs), signal);
        if (signal.aborted) return;
        untilLookMs -= DRAIN_CHECK_MS;
        try {
          await drivers.drain.check();
          if (untilLookMs > 0) continue;
          untilLookMs = options.syncPeriodMs;
          await lookForDrift();
        } catch (error) {
          log.error(error, 'Could not look after IPVS', { ipFamily: family });
        }
      }
    },
    measure: () => {},
    counts: async () =>
      countedServices(state.plan && state.model ? await readTraffic(host.ipvs, state.model, state.plan.facts) : []),
    countFailure: (metrics) => metrics.iptablesRestoreFailures.of({ ip_family: family }).increment(),
  };
}

function countedServices(traffic: readonly FrontendTraffic[]): CountedServices {
  const counted = ({ connections, bytesIn, bytesOut }: IpvsTraffic) => ({
    connections,
    bytes: { toEndpoint: bytesIn, toClient: bytesOut },
  });
  return {
    frontends: traffic.map(({ port, address, ...sum }) => ({ port, frontend: address, ...counted(sum) })),
    endpoints: traffic.flatMap(({ port, address, endpoints }) =>
      [...endpoints].map(([endpoint, sum]) => ({ port, frontend: address, endpoint, ...counted(sum) })),
    ),
  };
}
