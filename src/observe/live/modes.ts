// For each mode: its rules as the walker takes them, what they should do, and who can say where they come from.
import { readSysctlIfAny } from '../../kernel/sysctl.ts';
import type { NodeModel } from '../../model/model.ts';
import type { NodePortAddresses } from '../../modes/iptables/facts.ts';
import { INVALID_DROPPED_COUNTER, LOCALHOST_NODE_PORTS_COUNTER } from '../../modes/iptables/facts.ts';
import { iptablesMode } from '../../modes/iptables/iptables.ts';
import type { LocalDetector } from '../../modes/local-detector.ts';
import { TABLE_NAME } from '../../modes/nftables/names.ts';
import { nftablesMode } from '../../modes/nftables/nftables.ts';
import { iptablesFacts, type NodeSettings, nftablesFacts } from '../../node/facts.ts';
import { IptablesOrigins } from '../trace/iptables-origins.ts';
import { parseIptablesSave } from '../trace/iptables-save.ts';
import { parseNftList } from '../trace/nft-list.ts';
import { NftablesOrigins } from '../trace/nftables-origins.ts';
import type { Origins } from '../trace/origin.ts';
import type { Ruleset, Table } from '../trace/ruleset.ts';
import type { DriftScope } from '../verify/drift.ts';
import { IPTABLES_SCOPE, iptablesSetup } from '../verify/iptables-scope.ts';
import type { Setup } from '../verify/meaning.ts';
import { NFTABLES_SCOPE, nftablesSetup } from '../verify/nftables-scope.ts';

export interface TraceMode {
  /** Whose program lists the mode's rules. */
  readonly needs: 'iptables' | 'nftables';
  readonly isOwnTable: (table: Table) => boolean;
  /** `heldText`: the rules that are there, if they are known: some planned ones depend on them. */
  readonly plan: (view: PlannedNode, hostIps: readonly string[], heldText: string | undefined) => PlannedMode;
}

/** The node whose rules are planned. */
export interface PlannedNode {
  readonly model: NodeModel;
  readonly settings: NodeSettings;
}

export interface PlannedMode {
  readonly planned: Ruleset;
  readonly setup: Setup;
  readonly scope: DriftScope;
  readonly origins: Origins;
  readonly detector: LocalDetector;
  readonly nodePortAddresses: NodePortAddresses;
}

export const TRACE_MODES: Readonly<Record<string, TraceMode>> = {
  iptables: {
    needs: 'iptables',
    isOwnTable: ({ origin }) => origin === 'iptables',
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
        origins: new IptablesOrigins(model),
      };
    },
  },
  nftables: {
    needs: 'nftables',
    isOwnTable: ({ origin, name }) => origin === 'nftables' && name === TABLE_NAME,
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
        origins: new NftablesOrigins(model),
      };
    },
  },
};
