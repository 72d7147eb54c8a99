// For each mode: its rules as the walker takes them, what they should do, and who can say where they come from.
import { listeningPorts } from '../../kernel/listening.ts';
import { readSysctlIfAny } from '../../kernel/sysctl.ts';
import type { Family } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import type { NodePortAddresses } from '../../modes/iptables/facts.ts';
import { INVALID_DROPPED_COUNTER, LOCALHOST_NODE_PORTS_COUNTER } from '../../modes/iptables/facts.ts';
import { iptablesMode } from '../../modes/iptables/iptables.ts';
import { ipvsFacts } from '../../modes/ipvs/facts.ts';
import { ipvsMode } from '../../modes/ipvs/ipvs.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import type { ModeName } from '../../modes/mode.ts';
import { TABLE_NAME } from '../../modes/nftables/names.ts';
import { nftablesMode } from '../../modes/nftables/nftables.ts';
import { userspaceFacts } from '../../modes/userspace/facts.ts';
import { userspaceMode } from '../../modes/userspace/userspace.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from '../../node/facts.ts';
import { IptablesOrigins } from '../trace/iptables-origins.ts';
import { parseIptablesSave } from '../trace/iptables-save.ts';
import { IpvsOrigins } from '../trace/ipvs-origins.ts';
import { parseNftList } from '../trace/nft-list.ts';
import { NftablesOrigins } from '../trace/nftables-origins.ts';
import type { Origins } from '../trace/origin.ts';
import type { Beside, Ruleset, Table } from '../trace/ruleset.ts';
import { UserspaceOrigins } from '../trace/userspace-origins.ts';
import type { DriftScope } from '../verify/drift.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../verify/iptables-scope.ts';
import { ipvsScope, ipvsSetup } from '../verify/ipvs-scope.ts';
import type { Setup } from '../verify/meaning.ts';
import { NFTABLES_SCOPE, nftablesSetup } from '../verify/nftables-scope.ts';
import { USERSPACE_SCOPE, userspaceSetup } from '../verify/userspace-scope.ts';
import type { Concern } from './concern.ts';
import { heldIpvs, plannedIpvs } from './ipvs-rules.ts';
import { parseIpvsText } from './ipvs-text.ts';
import { runningRelays, userspaceRules } from './userspace-rules.ts';

export interface TraceMode {
  /** Whose program lists the mode's rules. */
  readonly needs: 'iptables' | 'nftables';
  readonly isOwnTable: (table: Table) => boolean;
  /** What the kernel has beside rules. */
  readonly beside?: (family: Family, concern?: Concern) => Promise<Beside>;
  /** The same in a text, or why it tells nothing. */
  readonly besideIn?: (text: string, family: Family) => Beside | string;
  readonly origins: (model: NodeModel) => Origins;
  /** Rules that were read, with what only the model tells of them. */
  readonly complete?: (read: Ruleset, node: PlannedNode, heldText: string) => Ruleset;
  /** `heldText`: the rules that are there, if they are known: some planned ones depend on them. */
  readonly plan: (view: PlannedNode, hostIps: readonly string[], heldText: string | undefined) => PlannedMode;
}

/** The node whose rules are planned. */
export interface PlannedNode {
  readonly nodeName: string;
  readonly model: NodeModel;
  readonly settings: NodeSettings;
}

export interface PlannedMode {
  readonly planned: Ruleset;
  readonly setup: Setup;
  readonly scope: DriftScope;
  readonly detector: LocalDetector;
  readonly nodePortAddresses: NodePortAddresses;
}

export const TRACE_MODES: Readonly<Record<ModeName, TraceMode>> = {
  iptables: {
    needs: 'iptables',
    isOwnTable: ({ origin }) => origin === 'iptables',
    origins: (model) => new IptablesOrigins(model),
    plan: ({ model, settings }, hostIps, heldText) => {
      const facts = iptablesFacts(settings, model.family, {
        backend: 'nf_tables',
        isInUserNamespace: false,
        hasRandomFully: true,
        conntrackIsLiberal: settings.configuration.conntrack.tcpBeLiberal,
        // They only count; whether they are there is told by the rules themselves.
        counters: {
          invalidDropped: heldText?.includes(INVALID_DROPPED_COUNTER) ?? false,
          localhostNodePorts: heldText?.includes(LOCALHOST_NODE_PORTS_COUNTER) ?? false,
        },
        hostIps,
      });
      return {
        ...facts,
        planned: parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts)), model.family),
        setup: iptablesSetup(facts),
        scope: IPTABLES_SCOPE,
      };
    },
  },
  nftables: {
    needs: 'nftables',
    isOwnTable: ({ origin, name }) => origin === 'nftables' && name === TABLE_NAME,
    origins: (model) => new NftablesOrigins(model),
    plan: ({ model, settings }, hostIps, heldText) => {
      const facts = nftablesFacts(settings, model.family, {
        hasCounters: true,
        releasesChainsAtOnce: true,
        routesLocalnet: heldText !== undefined && readSysctlIfAny('net/ipv4/conf/all/route_localnet') === '1',
        hostIps,
      });
      return {
        ...facts,
        planned: parseNftList(nftablesMode.print(nftablesMode.plan(model, facts)), model.family),
        setup: nftablesSetup(facts),
        scope: NFTABLES_SCOPE,
      };
    },
  },
  ipvs: {
    needs: 'iptables',
    isOwnTable: ({ origin }) => origin === 'iptables',
    beside: heldIpvs,
    besideIn: parseIpvsText,
    origins: (model) => new IpvsOrigins(model),
    plan: ({ model, settings, nodeName }, hostIps) => {
      const addresses = hostIps.map((ip) => ({ ip, device: 0, isLinkLocal: isLinkLocal(ip) }));
      const machine = { nodeName, hasRandomFully: true, addresses, device: undefined };
      const facts = ipvsFacts(settings, model.family, machine);
      return {
        planned: plannedIpvs(ipvsMode.plan(model, facts)),
        setup: ipvsSetup(facts),
        scope: ipvsScope(facts),
        detector: facts.detector,
        nodePortAddresses: { kind: 'some', ips: facts.nodePortAddresses },
      };
    },
  },
  userspace: {
    needs: 'iptables',
    isOwnTable: ({ origin }) => origin === 'iptables',
    beside: async () => ({ listening: listeningPorts() }),
    besideIn: (text) =>
      NAMED_PORT.test(text) ? 'relays have ports only while they run, and these rules have names' : {},
    origins: (model) => new UserspaceOrigins(model),
    complete: (read, { model, settings }, heldText) => {
      const facts = userspaceFacts(settings, model.family);
      const { relays } = userspaceRules(userspaceMode.plan(model, facts), heldText);
      return { ...read, relays: runningRelays(relays, read.listening) };
    },
    plan: ({ model, settings }, _, heldText) => {
      const facts = userspaceFacts(settings, model.family);
      return {
        planned: userspaceRules(userspaceMode.plan(model, facts), heldText),
        setup: userspaceSetup(facts),
        scope: USERSPACE_SCOPE,
        detector: facts.detector,
        nodePortAddresses: { kind: 'all' },
      };
    },
  },
};

/** What is printed of a plan. */
const NAMED_PORT = /<\S+\/(TCP|UDP) (cluster|local)>/;

/** As the kernel tells by an address's scope: fe80::/10, and 169.254.0.0/16 only where somebody said so. */
function isLinkLocal(ip: string): boolean {
  return /^fe[89ab]/.test(ip);
}
