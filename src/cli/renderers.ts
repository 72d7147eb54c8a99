// How each mode is printed offline: the machine is assumed to be a current one.
import type { NodeModel } from '../model/model.ts';
import { iptablesMode } from '../modes/iptables/iptables.ts';
import { nftablesMode } from '../modes/nftables/nftables.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from '../node/facts.ts';

export interface Rendered {
  readonly text: string;
}

export interface AssumedMachine {
  readonly nfacct: boolean;
  readonly hostIps: readonly string[];
}

type Renderer = (model: NodeModel, settings: NodeSettings, machine: AssumedMachine) => Rendered;

export const RENDERERS: Readonly<Record<string, Renderer>> = {
  iptables: (model, settings, { nfacct, hostIps }) => {
    const counters = { invalidDropped: nfacct, localhostNodePorts: nfacct };
    const machine = {
      backend: 'nf_tables' as const,
      hasRandomFully: true,
      conntrackIsLiberal: settings.configuration.conntrack.tcpBeLiberal,
      counters,
      hostIps,
    };
    return { text: iptablesMode.print(iptablesMode.plan(model, iptablesFacts(settings, model.family, machine))) };
  },
  nftables: (model, settings, { hostIps }) => {
    const hasCounters = settings.configuration.portolan.serviceMetrics;
    const machine = { hasCounters, releasesChainsAtOnce: true, routesLocalnet: true, hostIps };
    return { text: nftablesMode.print(nftablesMode.plan(model, nftablesFacts(settings, model.family, machine))) };
  },
};
