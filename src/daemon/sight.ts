// One family as it stands: what objects mean, what is planned, and what the kernel has, side by side. For the agent's own check and
// for the console.

import { Addresses } from '../kernel/addresses.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import type { NodeSettings } from '../node/facts.ts';
import { kernelRules } from '../observe/live/kernel-rules.ts';
import type { TraceMode } from '../observe/live/modes.ts';
import { AddressBook } from '../observe/trace/frontends.ts';
import type { Surroundings } from '../observe/trace/packet.ts';
import { neighbourhoodOf } from '../observe/verify/neighbourhood.ts';
import type { VerifyInput } from '../observe/verify/verify.ts';

export interface SightOptions {
  readonly mode: TraceMode;
  readonly model: NodeModel;
  readonly settings: NodeSettings;
}

export async function sightOf({ mode, model, settings }: SightOptions): Promise<VerifyInput> {
  const { ruleset, text } = await kernelRules(model.family, mode);
  const { host, hostIps } = await hostOf(settings, model.family);
  // Planned from nothing, not as a change to the plan before.
  const planned = mode.plan({ model: { ...model, isFresh: true }, settings }, hostIps, text);
  const book = new AddressBook(model);
  const around = neighbourhoodOf(model, book, {
    nodeIp: host.address,
    hostIps,
    podCIDRs: settings.podCIDRs,
    detector: planned.detector,
    nodePortAddresses: planned.nodePortAddresses,
  });
  return { ...planned, model, around, host, held: ruleset, book };
}

export async function hostOf(
  settings: NodeSettings,
  family: Family,
): Promise<{ readonly host: Surroundings; readonly hostIps: readonly string[] }> {
  const addresses = new Addresses();
  try {
    const hostIps = await addresses.list(family);
    const address = settings.addresses.ips[family];
    const own = new Set([...hostIps, address]);
    return { host: { isOwnAddress: (ip) => own.has(ip), address }, hostIps };
  } finally {
    addresses.close();
  }
}
