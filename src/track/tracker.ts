// In: objects as they come and go.  Out: for each reader, snapshots that name what changed since its last one.
// The objects are kept once; every reader (one for each IP family) has its own list of changes, because each syncs by itself.
import { isDeepStrictEqual } from 'node:util';
import type { EndpointSlice, Node, Service, ServiceCIDR } from '../api/objects.ts';
import { FAMILIES, type Family, familyOf } from '../lib/ip.ts';
import type { Snapshot } from './snapshot.ts';

export class Tracker {
  readonly #services = new Map<string, Service>();
  readonly #slices = new Map<string, Map<string, EndpointSlice>>();
  readonly #serviceOfSlice = new Map<string, string>();
  readonly #serviceCIDRs = new Map<string, ServiceCIDR>();
  readonly #feeds: Readonly<Record<Family, Feed>> = { IPv4: new Feed(), IPv6: new Feed() };
  #node: Node | undefined;

  get serviceCount(): number {
    return this.#services.size;
  }

  /** True if the change asks for a sync of this family. */
  needsSync(family: Family): boolean {
    return !this.#feeds[family].isEmpty;
  }

  pending(family: Family): { readonly services: number; readonly slices: number } {
    return { services: this.#feeds[family].servicesBefore.size, slices: this.#feeds[family].sliceChanges };
  }

  setService(name: string, service: Service | undefined): void {
    const before = this.#services.get(name);
    if (service) this.#services.set(name, service);
    else this.#services.delete(name);
    for (const family of FAMILIES) this.#feeds[family].serviceChanged(name, before, service);
  }

  setSlice(name: string, slice: EndpointSlice | undefined): void {
    const oldService = this.#serviceOfSlice.get(name);
    const before = oldService === undefined ? undefined : this.#slices.get(oldService)?.get(name);
    if (before && slice && isDeepStrictEqual(before, slice)) return;
    const service = slice && `${slice.namespace}/${slice.service}`;
    if (before && (oldService !== service || before.family !== slice?.family)) this.#removeSlice(name, before);
    if (!slice || service === undefined) return;
    const slices = this.#slices.get(service) ?? new Map<string, EndpointSlice>();
    this.#slices.set(service, slices.set(name, slice));
    this.#serviceOfSlice.set(name, service);
    this.#feeds[slice.family].sliceChanged(service, slice.lastChangeTriggerTime);
  }

  #removeSlice(name: string, slice: EndpointSlice): void {
    const service = `${slice.namespace}/${slice.service}`;
    const slices = this.#slices.get(service);
    slices?.delete(name);
    if (slices?.size === 0) this.#slices.delete(service);
    this.#serviceOfSlice.delete(name);
    this.#feeds[slice.family].sliceRemoved(service);
  }

  /** A deleted Node keeps its last known state: its zone and addresses are still the best guess. */
  setNode(node: Node): void {
    const zoneChanged = (this.#node?.zone ?? '') !== node.zone;
    this.#node = node;
    if (zoneChanged) for (const family of FAMILIES) this.#feeds[family].everythingChanged();
  }

  setServiceCIDR(name: string, serviceCIDR: ServiceCIDR | undefined): void {
    if (isDeepStrictEqual(this.#serviceCIDRs.get(name), serviceCIDR)) return;
    if (serviceCIDR) this.#serviceCIDRs.set(name, serviceCIDR);
    else this.#serviceCIDRs.delete(name);
    for (const family of FAMILIES) this.#feeds[family].serviceCIDRsChanged = true;
  }

  /** Names of everything held, for the one who compares it with a fresh list. */
  serviceNames(): Iterable<string> {
    return this.#services.keys();
  }

  sliceNames(): Iterable<string> {
    return this.#serviceOfSlice.keys();
  }

  serviceCIDRNames(): Iterable<string> {
    return this.#serviceCIDRs.keys();
  }

  /** What the cluster says now. Its maps are live: use them before the next event. */
  take(family: Family): Snapshot {
    const cidrs = [...this.#serviceCIDRs.values()].flatMap(({ cidrs }) => cidrs);
    return {
      family,
      services: this.#services,
      slices: this.#slices,
      node: this.#node,
      serviceCIDRs: cidrs.filter((cidr) => familyOf(cidr) === family).sort(),
      ...this.#feeds[family].take(),
    };
  }
}

/** What one reader has not seen yet. */
class Feed {
  /** Each changed Service with what it was at the last snapshot, so that an edit that is taken back counts for nothing. */
  servicesBefore = new Map<string, Service | undefined>();
  sliceChanges = 0;
  serviceCIDRsChanged = false;
  #slices = new Map<string, number[]>();
  #isFresh = true;

  get isEmpty(): boolean {
    return !this.#isFresh && !this.serviceCIDRsChanged && this.servicesBefore.size === 0 && this.#slices.size === 0;
  }

  serviceChanged(name: string, before: Service | undefined, after: Service | undefined): void {
    if (!this.servicesBefore.has(name)) this.servicesBefore.set(name, before);
    if (isDeepStrictEqual(this.servicesBefore.get(name), after)) this.servicesBefore.delete(name);
  }

  sliceChanged(service: string, triggerTime: number | undefined): void {
    this.sliceChanges++;
    const times = this.#slices.get(service) ?? [];
    if (triggerTime !== undefined) times.push(triggerTime);
    this.#slices.set(service, times);
  }

  /** The time it takes to remove endpoints is not measured, as upstream does not either. */
  sliceRemoved(service: string): void {
    this.sliceChanges++;
    this.#slices.set(service, []);
  }

  everythingChanged(): void {
    this.#isFresh = true;
  }

  take(): Pick<Snapshot, 'changed' | 'isFresh' | 'triggerTimes'> {
    const taken = {
      changed: new Set([...this.servicesBefore.keys(), ...this.#slices.keys()]),
      isFresh: this.#isFresh,
      triggerTimes: [...this.#slices.values()].flat(),
    };
    this.servicesBefore = new Map();
    this.#slices = new Map();
    this.sliceChanges = 0;
    this.serviceCIDRsChanged = false;
    this.#isFresh = false;
    return taken;
  }
}
