// For each mode: its rules as the walker takes them, planned or from the kernel, and who can say where they come from.
import { Iptables, type IptablesVariant } from '../kernel/iptables.ts';
import { type RunProcess, runProcess } from '../kernel/process.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import { INVALID_DROPPED_COUNTER, type IptablesFacts, LOCALHOST_NODE_PORTS_COUNTER } from '../modes/iptables/facts.ts';
import { iptablesMode } from '../modes/iptables/iptables.ts';
import { iptablesFacts } from '../node/facts.ts';
import { IptablesOrigins } from '../observe/trace/iptables-origins.ts';
import { parseIptablesSave } from '../observe/trace/iptables-save.ts';
import type { Origins } from '../observe/trace/origin.ts';
import { mergeRulesets, type Ruleset } from '../observe/trace/ruleset.ts';
import type { NodeView } from './node-view.ts';

export interface TraceMode {
  readonly facts: (view: NodeView, hostIps: readonly string[], kernelText: string | undefined) => IptablesFacts;
  readonly planned: (model: NodeModel, facts: IptablesFacts) => Ruleset;
  readonly origins: (model: NodeModel) => Origins;
}

export const TRACE_MODES: Readonly<Record<string, TraceMode>> = {
  iptables: {
    facts: (view, hostIps, kernelText) =>
      iptablesFacts(view.settings, view.model.family, {
        backend: 'nf_tables',
        hasRandomFully: true,
        conntrackIsLiberal: view.settings.configuration.conntrack.tcpBeLiberal,
        // They only count; whether they are there is told by the rules themselves.
        counters: {
          invalidDropped: kernelText?.includes(INVALID_DROPPED_COUNTER) ?? false,
          localhostNodePorts: kernelText?.includes(LOCALHOST_NODE_PORTS_COUNTER) ?? false,
        },
        hostIps,
      }),
    planned: (model, facts) => parseIptablesSave(iptablesMode.print(iptablesMode.plan(model, facts)), model.family),
    origins: (model) => new IptablesOrigins(model),
  },
};

export interface SavedTables {
  readonly variant: IptablesVariant;
  readonly text: string;
}

/** What `iptables-save` of each variant prints on this host; the other one is left out if it has no rules. */
export async function savedTables(family: Family, run: RunProcess = runProcess): Promise<readonly SavedTables[]> {
  const own = new Iptables(family, 'auto', run);
  const { backend } = await own.version();
  const other: IptablesVariant = backend === 'legacy' ? 'nft' : 'legacy';
  const saved: SavedTables = { variant: 'auto', text: await own.save() };
  try {
    const text = await new Iptables(family, other, run).save();
    return /^-A /m.test(text) ? [saved, { variant: other, text }] : [saved];
  } catch {
    return [saved]; // not installed, so nobody could have loaded rules with it
  }
}

/** Of two tables with one priority the kernel asks the younger first, and no text tells which that is. As the other one is the
 *  one that does not belong there, the worse is assumed: that it comes first. */
export function rulesetOf(family: Family, saved: readonly SavedTables[]): Ruleset {
  return mergeRulesets(
    family,
    saved
      .toReversed()
      .map(({ variant, text }) =>
        parseIptablesSave(text, family, variant === 'auto' ? 'iptables' : `iptables-${variant}`),
      ),
  );
}
