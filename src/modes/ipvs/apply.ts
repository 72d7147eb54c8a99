// The effects of IPVS mode: reading what the kernel holds, and the steps of a change, in batches for each driver.

import type { IpSets } from '../../kernel/ipset.ts';
import { addEntry, deleteEntry } from '../../kernel/ipset-codec.ts';
import type { Iptables } from '../../kernel/iptables.ts';
import type { Ipvs } from '../../kernel/ipvs.ts';
import type { ServerKey } from '../../kernel/ipvs-codec.ts';
import type { Links } from '../../kernel/links.ts';
import { addAddress, type Device, deleteAddress } from '../../kernel/links-codec.ts';
import type { NetlinkStep } from '../../kernel/netlink/steps.ts';
import { assertNever } from '../../lib/assert.ts';
import { type Family, familyOf, isLoopback } from '../../lib/ip.ts';
import { heldChains } from './chains.ts';
import type { HeldServer, IpvsChange, IpvsState, IpvsStep } from './diff.ts';
import type { Draining, DrainList } from './drain.ts';
import { kernelName, kernelSet, kernelSets, SET_NAMES } from './sets.ts';

export const DEVICE = 'kube-ipvs0';

/** Of one family, except for the device and the IPVS itself, which both share. */
export interface IpvsDrivers {
  readonly family: Family;
  readonly ipvs: Ipvs;
  readonly sets: IpSets;
  readonly links: Links;
  readonly iptables: Iptables;
  readonly drain: DrainList;
}

export async function read(drivers: IpvsDrivers): Promise<IpvsState> {
  return readBeside(drivers, await drivers.iptables.save());
}

/** `save`: the text of iptables-save, where it is known. */
export async function readBeside(drivers: IpvsDrivers, save: string): Promise<IpvsState> {
  const { family, ipvs, sets, links } = drivers;
  const servers: HeldServer[] = [];
  for (const server of await ipvs.servers()) {
    if (familyOf(server.ip) === family) servers.push({ server, backends: await ipvs.backends(server) });
  }
  return {
    kind: 'read',
    servers,
    sets: await heldSets(sets, family),
    addresses: await boundAddresses(links, family),
    ...heldChains(save),
  };
}

/** Those of ours that exist. */
export async function heldSets(sets: IpSets, family: Family): Promise<IpvsState['sets']> {
  const held = new Map((await sets.list()).map((set) => [set.name, set.entries]));
  return new Map(
    SET_NAMES.flatMap((name) => {
      const entries = held.get(kernelName(name, family));
      return entries ? [[name, entries] as const] : [];
    }),
  );
}

export async function boundAddresses(links: Links, family: Family): Promise<readonly string[]> {
  const device = await links.device(DEVICE);
  if (!device) return [];
  const addresses = await links.addresses(family);
  return addresses
    .filter(({ device: of, ip, isLinkLocal }) => of === device.index && !isLinkLocal && !isLoopback(ip))
    .map(({ ip }) => ip);
}

export async function apply(drivers: IpvsDrivers, change: IpvsChange): Promise<void> {
  const { steps } = change;
  for (let from = 0; from < steps.length; ) {
    let to = from + 1;
    while (to < steps.length && driverOf(steps[to]!) === driverOf(steps[from]!)) to++;
    await applyBatch(drivers, steps.slice(from, to));
    from = to;
  }
}

type Driver = 'prepare' | 'ipvs' | 'drain' | 'sets' | 'links' | 'iptables';

function driverOf({ kind }: IpvsStep): Driver {
  switch (kind) {
    case 'prepare':
      return 'prepare';
    case 'add-server':
    case 'set-server':
    case 'delete-server':
    case 'add-backend':
    case 'set-backend':
      return 'ipvs';
    case 'remove-backend':
      return 'drain';
    case 'add-entry':
    case 'delete-entry':
      return 'sets';
    case 'add-address':
    case 'delete-address':
      return 'links';
    case 'restore':
      return 'iptables';
    default:
      return assertNever(kind);
  }
}

/** Steps of one driver, one after the other. */
async function applyBatch(drivers: IpvsDrivers, steps: readonly IpvsStep[]): Promise<void> {
  const { family, ipvs, sets, links, iptables, drain } = drivers;
  switch (driverOf(steps[0]!)) {
    case 'prepare':
      await links.ensureDummy(DEVICE);
      return sets.create(kernelSets(family));
    case 'ipvs':
      return ipvs.send(steps.map((step) => ipvsStep(drivers, step)));
    case 'drain':
      return drain.remove(steps as readonly Draining[]);
    case 'sets':
      return sets.send(steps.map((step) => setStep(step, family)));
    case 'links': {
      const device = await links.ensureDummy(DEVICE);
      return links.send(steps.map((step) => addressStep(step, device)));
    }
    case 'iptables':
      for (const step of steps) if (step.kind === 'restore') await iptables.restore(step.lines);
  }
}

function ipvsStep({ ipvs: { requests }, drain }: IpvsDrivers, step: IpvsStep): NetlinkStep {
  switch (step.kind) {
    case 'add-server':
      return requests.addServer(step.server);
    case 'set-server':
      return requests.setServer(step.server);
    case 'delete-server':
      drain.forget(step.server);
      return requests.deleteServer(step.server as ServerKey);
    case 'add-backend':
      return drain.takeBack(step.server, step.backend)
        ? requests.setBackend(step.server, step.backend)
        : requests.addBackend(step.server, step.backend);
    case 'set-backend':
      drain.takeBack(step.server, step.backend);
      return requests.setBackend(step.server, step.backend);
    default:
      throw new Error(`${step.kind} is no step of IPVS`);
  }
}

function setStep(step: IpvsStep, family: Family): NetlinkStep {
  if (step.kind === 'add-entry') return addEntry(kernelSet(step.set, family), step.entry);
  if (step.kind === 'delete-entry') return deleteEntry(kernelSet(step.set, family), step.entry);
  throw new Error(`${step.kind} is no step of a set`);
}

function addressStep(step: IpvsStep, device: Device): NetlinkStep {
  if (step.kind === 'add-address') return addAddress(device, step.ip);
  if (step.kind === 'delete-address') return deleteAddress(device, step.ip);
  throw new Error(`${step.kind} is no step of a device`);
}
