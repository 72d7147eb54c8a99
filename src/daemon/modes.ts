// The drivers of this host, and how each mode is put to work with them.
import type { ProxyConfiguration } from '../config/configuration.ts';
import { staleFlowTest } from '../flows/stale.ts';
import { connectionTargets, type FlowTargets } from '../flows/targets.ts';
import { Addresses } from '../kernel/addresses.ts';
import { Conntrack, type Flow } from '../kernel/conntrack.ts';
import { kernelVersion } from '../kernel/host.ts';
import { Iptables, type IptablesVariant } from '../kernel/iptables.ts';
import { NetlinkSocket } from '../kernel/netlink/socket.ts';
import { Nfacct } from '../kernel/nfacct.ts';
import { nftablesGeneration } from '../kernel/nftables-generation.ts';
import { assertNever } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { inMilliseconds } from '../lib/duration.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { NodeIdentity } from '../model/resolve.ts';
import { type NodePortNetworks, nodePortIps } from '../node/addresses.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Log } from '../observe/log.ts';
import type { Tracker } from '../track/tracker.ts';
import type { IpvsHost } from './ipvs-runtime.ts';
import type { ModeRuntime } from './runtime.ts';

export interface RuntimeContext {
  readonly configuration: ProxyConfiguration;
  readonly tracker: Tracker;
  readonly clock: Clock;
  readonly log: Log;
  readonly variant: IptablesVariant;
  /** The mode cannot go on; a restart of the agent is the way out. */
  readonly onFatal: (error: Error) => void;
}

export class Runtimes {
  readonly iptables: Readonly<Record<Family, Iptables>>;
  readonly #context: RuntimeContext;
  readonly #addresses = new Addresses();
  readonly #conntrack = new Conntrack();
  readonly #nfacct = new Nfacct();
  readonly #hasNfacct: Promise<boolean>;
  #ipvsHost: Promise<IpvsHost> | undefined;

  constructor(context: RuntimeContext) {
    this.#context = context;
    this.iptables = { IPv4: new Iptables('IPv4', context.variant), IPv6: new Iptables('IPv6', context.variant) };
    this.#hasNfacct = this.#nfacct.isSupported();
  }

  /** Only the mode that runs is loaded: the others would cost memory for nothing. */
  async create(family: Family, settings: NodeSettings, identity: NodeIdentity): Promise<ModeRuntime> {
    const { configuration, tracker, clock, log } = this.#context;
    const { mode } = configuration;
    const common = { family, tracker, identity, settings };
    const withIptables = {
      ...common,
      iptables: this.iptables[family],
      syncPeriodMs: inMilliseconds(configuration.syncPeriod),
      clock,
      log,
    };
    const hostIps = (): Promise<readonly string[]> => this.#addresses.list(family);
    switch (mode) {
      case 'iptables': {
        const { iptablesRuntime } = await import('./iptables-runtime.ts');
        const socket = new NetlinkSocket('netfilter');
        const generation = (): Promise<number> => nftablesGeneration(socket);
        const ensureCounter = (name: string): Promise<boolean> => this.#ensureCounter(name);
        return iptablesRuntime({ ...withIptables, hostIps, generation, ensureCounter });
      }
      case 'nftables': {
        const { nftablesRuntime } = await import('./nftables-runtime.ts');
        const { Nftables } = await import('../kernel/nftables.ts');
        return nftablesRuntime({ ...common, hostIps, nftables: new Nftables(), kernelVersion: kernelVersion() });
      }
      case 'ipvs': {
        const { ipvsRuntime, openIpvsHost } = await import('./ipvs-runtime.ts');
        this.#ipvsHost ??= openIpvsHost(configuration.ipvs);
        return ipvsRuntime({ ...withIptables, host: await this.#ipvsHost });
      }
      case 'userspace': {
        const { userspaceRuntime } = await import('./userspace-runtime.ts');
        return userspaceRuntime({ ...withIptables, onLost: this.#context.onFatal });
      }
      default:
        return assertNever(mode);
    }
  }

  /** Packets counted by an nfacct object. */
  async readCounter(name: string): Promise<number | undefined> {
    if (!(await this.#hasNfacct)) return undefined;
    const counter = await this.#nfacct.get(name);
    return counter && Number(counter.packets);
  }

  /** Where health checks of load balancers are answered. */
  async healthCheckAddresses(networks: NodePortNetworks, family: Family): Promise<readonly string[]> {
    const wildcard = family === 'IPv4' ? '0.0.0.0' : '::';
    return networks.matchAll ? [wildcard] : nodePortIps(networks, await this.#addresses.list(family));
  }

  /** Resolves to how many there were. */
  async deleteStaleFlows(flows: FlowTargets): Promise<number> {
    return this.#conntrack.deleteFlows(flows.family, 'udp', await this.#staleTest(flows.family, () => flows));
  }

  /** Of connections that nobody answered, those that do not lead to an endpoint of their service: dialled while the rules were
   *  gone, or towards an endpoint that was. The client's next attempt is led anew. Resolves to how many there were. */
  async deleteStrayConnections(model: NodeModel): Promise<number> {
    const isStray = await this.#staleTest(model.family, () => connectionTargets(model));
    return this.#conntrack.deleteFlows(model.family, 'unanswered-tcp', isStray);
  }

  /** Where flows may lead is worked out for the first of them: most often there is none. Flows to relays of userspace mode lead to no
   *  endpoint and always go, with those to relays that have ended: whose relay works is led there again. */
  async #staleTest(family: Family, flows: () => FlowTargets): Promise<(flow: Flow) => boolean> {
    const nodeAddresses = new Set(await this.#addresses.list(family));
    let isStale: ((flow: Flow) => boolean) | undefined;
    return (flow) => {
      isStale ??= staleFlowTest(flows(), nodeAddresses);
      return isStale(flow);
    };
  }

  async #ensureCounter(name: string): Promise<boolean> {
    if (!(await this.#hasNfacct)) return false;
    try {
      await this.#nfacct.ensure(name);
      return true;
    } catch (error) {
      this.#context.log.error(error, 'A packet counter could not be made; its metric stays away', { counter: name });
      return false;
    }
  }
}
