// One family as it stands: what objects mean, what is planned, and what the kernel has, side by side. For the agent's own check and
// for the console.

import { Addresses } from '../kernel/addresses.ts';
import { isBridged } from '../kernel/bridges.ts';
import type { NodeModel } from '../model/model.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { Concern } from '../observe/live/concern.ts';
import { kernelRules } from '../observe/live/kernel-rules.ts';
import type { TraceMode } from '../observe/live/modes.ts';
import { AddressBook } from '../observe/trace/frontends.ts';
import type { Surroundings } from '../observe/trace/packet.ts';
import type { Ruleset } from '../observe/trace/ruleset.ts';
import { withAddresses } from '../observe/trace/surroundings.ts';
import { neighbourhoodOf } from '../observe/verify/neighbourhood.ts';
import type { VerifyInput } from '../observe/verify/verify.ts';

export interface SightOptions {
  readonly mode: TraceMode;
  readonly model: NodeModel;
  readonly settings: NodeSettings;
  readonly nodeName: string;
  /** Of the kernel's rules, only those that matter for it are read. */
  readonly concern?: Concern;
}

export async function sightOf({ mode, model, settings, nodeName, concern }: SightOptions): Promise<VerifyInput> {
  const { ruleset, text } = await kernelRules(model.family, { ...mode, ...(concern && { concern }) });
  const { host, hostIps } = await hostOf(settings, ruleset);
  // Planned from nothing, not as a change to the plan before.
  const node = { model: { ...model, isFresh: true }, settings, nodeName };
  const planned = mode.plan(node, hostIps, text);
  const held = mode.complete?.(ruleset, node, text) ?? ruleset;
  const book = new AddressBook(model);
  const around = neighbourhoodOf(model, book, {
    nodeIp: host.address,
    hostIps,
    podCIDRs: settings.podCIDRs,
    detector: planned.detector,
    nodePortAddresses: planned.nodePortAddresses,
    serviceIps: planned.planned.addresses,
  });
  return { ...planned, origins: mode.origins(model), model, around, host, held, book };
}

/** With the addresses that it has for Services among its own, but not among `hostIps`. */
export async function hostOf(
  settings: NodeSettings,
  ruleset: Ruleset,
): Promise<{ readonly host: Surroundings; readonly hostIps: readonly string[] }> {
  const addresses = new Addresses();
  try {
    const { family } = ruleset;
    const hostIps = (await addresses.list(family)).filter((ip) => !ruleset.addresses?.has(ip));
    const address = settings.addresses.ips[family];
    const own = new Set([...hostIps, address]);
    return { host: withAddresses({ isOwnAddress: (ip) => own.has(ip), address, isBridged }, ruleset), hostIps };
  } finally {
    addresses.close();
  }
}
