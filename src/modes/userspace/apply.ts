// The effects of userspace mode: relays that run in this process, and the rules that lead to them.
import type { Iptables } from '../../kernel/iptables.ts';
import { fullLines, heldChains, partialLines, removalLines } from './chains.ts';
import type { Claims } from './claims.ts';
import type { UserspaceChange, UserspaceState } from './diff.ts';
import type { RelayHost } from './relay-host.ts';
import { type Rule, ruleText } from './rules.ts';

export interface UserspaceDrivers {
  readonly iptables: Iptables;
  readonly relays: RelayHost;
  readonly claims: Claims;
}

export async function read({ iptables }: UserspaceDrivers): Promise<UserspaceState> {
  return heldChains(await iptables.save());
}

/** A relay that cannot start leaves its own service without rules, not the others; it is tried again at the next sync. */
export async function apply({ iptables, relays, claims }: UserspaceDrivers, change: UserspaceChange): Promise<void> {
  const failures: unknown[] = [];
  for (const relay of change.relays) {
    await relays.ensure(relay, change.facts.bindAddress).catch((error: unknown) => failures.push(error));
  }
  await claims.claim(change.claims);

  const text = (rules: readonly Rule[]): string[] =>
    rules.flatMap((rule) => {
      const port = relays.portOf(rule.relay);
      return port === undefined ? [] : [ruleText(rule, change.facts, port)];
    });
  const added = text(change.addedRules);
  await iptables.restore(change.held ? fullLines(added, change.held) : partialLines(text(change.removedRules), added));

  for (const key of change.stoppedRelays) relays.stop(key);
  claims.release(change.releasedClaims);
  relays.expire();
  if (failures.length > 0) throw failures[0];
}

/** Removes every rule of userspace mode from one family, and nothing of others. */
export async function removeRules(iptables: Iptables): Promise<void> {
  await iptables.restore(removalLines(heldChains(await iptables.save())));
}
