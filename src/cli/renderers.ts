// How each mode is printed offline: the machine is assumed to be a current one.
import type { NodeModel } from '../model/model.ts';
import { iptablesMode } from '../modes/iptables/iptables.ts';
import { ipvsFacts } from '../modes/ipvs/facts.ts';
import { ipvsMode } from '../modes/ipvs/ipvs.ts';
import { nftablesMode } from '../modes/nftables/nftables.ts';
import { userspaceFacts } from '../modes/userspace/facts.ts';
import { userspaceMode } from '../modes/userspace/userspace.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from '../node/facts.ts';

export interface Rendered {
  readonly text: string;
}

export interface AssumedMachine {
  readonly nfacct: boolean;
  readonly hostIps: readonly string[];
  readonly nodeName: string;
}

/** Every host has these, and node-port addresses may name them; a Node object does not. */
const LOOPBACK = ['127.0.0.1', '::1'];

type Renderer = (model: NodeModel, settings: NodeSettings, machine: AssumedMachine) => Rendered;

export const RENDERERS: Readonly<Record<string, Renderer>> = {
  iptables: (model, settings, { nfacct, hostIps }) => {
    const counters = { invalidDropped: nfacct, localhostNodePorts: nfacct };
    const machine = {
      backend: 'nf_tables' as const,
      isInUserNamespace: false,
      hasRandomFully: true,
      conntrackIsLiberal: settings.configuration.conntrack.tcpBeLiberal,
      counters,
      hostIps: [...hostIps, ...LOOPBACK],
    };
    return { text: iptablesMode.print(iptablesMode.plan(model, iptablesFacts(settings, model.family, machine))) };
  },
  nftables: (model, settings, { hostIps }) => {
    const hasCounters = settings.configuration.portolan.serviceMetrics;
    const machine = {
      hasCounters,
      releasesChainsAtOnce: true,
      routesLocalnet: true,
      hostIps: [...hostIps, ...LOOPBACK],
    };
    return { text: nftablesMode.print(nftablesMode.plan(model, nftablesFacts(settings, model.family, machine))) };
  },
  ipvs: (model, settings, { hostIps, nodeName }) => {
    const addresses = hostIps.map((ip) => ({ ip, device: 1, isLinkLocal: false }));
    const facts = ipvsFacts(settings, model.family, { nodeName, hasRandomFully: true, addresses, device: undefined });
    return { text: ipvsMode.print(ipvsMode.plan(model, facts)) };
  },
  userspace: (model, settings) => ({
    text: userspaceMode.print(userspaceMode.plan(model, userspaceFacts(settings, model.family))),
  }),
};
