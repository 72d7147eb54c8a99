// In: a plan.  Out: its relays, and its rules as iptables-restore would load them, with a name where a relay's port will be.
import { fullLines } from './chains.ts';
import type { RelayPlan, UserspacePlan } from './plan.ts';
import { ruleText } from './rules.ts';

export function print(plan: UserspacePlan): string {
  const parts = [...plan.services.keys()].sort().map((name) => plan.services.get(name)!);
  const rules = parts.flatMap((part) => part.rules.map((rule) => ruleText(rule, plan.facts, `<${rule.relay}>`)));
  const relays = parts.flatMap((part) => part.relays.map(relayLine));
  const text = fullLines(rules, { kind: 'read', chains: new Set(), jumps: new Set() });
  return `${['# relays of this process', ...relays, '', '# rules (iptables-restore)', ...text].join('\n')}\n`;
}

function relayLine({ key, backends, affinityTimeoutSeconds }: RelayPlan): string {
  const sticky = affinityTimeoutSeconds > 0 ? ` sticky ${affinityTimeoutSeconds}s` : '';
  return `<${key}>${sticky} -> ${backends.map(({ address }) => address).join(' ') || 'nobody'}`;
}
