// IPVS mode in a host of a world: the real pipeline over real netlink sockets, which belong to the host they were opened in.
import { writeFileSync } from 'node:fs';
import { IpSets } from '../../../src/kernel/ipset.ts';
import { Iptables } from '../../../src/kernel/iptables.ts';
import { Ipvs } from '../../../src/kernel/ipvs.ts';
import { Links } from '../../../src/kernel/links.ts';
import { NetlinkSocket } from '../../../src/kernel/netlink/socket.ts';
import type { RunProcess } from '../../../src/kernel/process.ts';
import { Namespaces } from '../../../src/lab/network/namespace.ts';
import type { World } from '../../../src/lab/network/world.ts';
import { FAMILIES, type Family } from '../../../src/lib/ip.ts';
import type { IpvsDrivers } from '../../../src/modes/ipvs/apply.ts';
import { removeIpvs } from '../../../src/modes/ipvs/cleanup.ts';
import type { IpvsChange, IpvsState } from '../../../src/modes/ipvs/diff.ts';
import { DrainList } from '../../../src/modes/ipvs/drain.ts';
import type { IpvsFacts } from '../../../src/modes/ipvs/facts.ts';
import { ipvsMode } from '../../../src/modes/ipvs/ipvs.ts';
import type { IpvsPlan } from '../../../src/modes/ipvs/plan.ts';
import { ipvsTunings } from '../../../src/node/tuning.ts';
import { type FamilyState, NOTHING_OWED, type SyncReport, sync } from '../../../src/pipeline.ts';
import type { Tracker } from '../../../src/track/tracker.ts';

export type IpvsFamily = FamilyState<IpvsFacts, IpvsPlan, IpvsState, IpvsChange, IpvsDrivers>;

/** One host with IPVS mode, in both families. */
export class IpvsHost {
  readonly world: World;
  readonly host: string;
  readonly ipvs: Ipvs;
  readonly sets: IpSets;
  readonly links: Links;
  readonly #namespaces: Namespaces;

  static async open(world: World, host: string): Promise<IpvsHost> {
    const namespaces = new Namespaces();
    const [generic, netfilter, route] = namespaces.enter(host, () => [
      new NetlinkSocket('generic'),
      new NetlinkSocket('netfilter'),
      new NetlinkSocket('route'),
    ]);
    const ipvs = await Ipvs.open(generic);
    if (!ipvs) throw new Error('this kernel has no IPVS');
    return new IpvsHost(world, host, namespaces, ipvs, new IpSets(netfilter), new Links(route));
  }

  private constructor(world: World, host: string, namespaces: Namespaces, ipvs: Ipvs, sets: IpSets, links: Links) {
    this.world = world;
    this.host = host;
    this.#namespaces = namespaces;
    this.ipvs = ipvs;
    this.sets = sets;
    this.links = links;
  }

  drivers(family: Family): IpvsDrivers {
    const { ipvs, sets, links } = this;
    return { family, ipvs, sets, links, iptables: this.iptables(family), drain: new DrainList(ipvs) };
  }

  iptables(family: Family): Iptables {
    return new Iptables(family, 'nft', this.#run);
  }

  setSysctl(path: string, value: string): void {
    this.#namespaces.enter(this.host, () => writeFileSync(`/proc/sys/${path}`, value));
  }

  /** Sets the kernel up as the agent does at its start. */
  tune(strictARP: boolean): void {
    for (const { files, value } of ipvsTunings({ strictARP }, '6.1.0')) {
      this.setSysctl(files[0]!.replace('/proc/sys/', ''), String(value));
    }
  }

  /** What a program of the host prints. */
  async run(...argv: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.world.exec({ host: this.host, argv });
    if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`);
    return stdout;
  }

  async cleanUp(): Promise<void> {
    const { ipvs, sets, links } = this;
    await removeIpvs({ ipvs, sets, links, iptables: FAMILIES.map((family) => this.iptables(family)) });
  }

  close(): void {
    this.ipvs.close();
    this.sets.close();
    this.links.close();
  }

  readonly #run: RunProcess = async (program, args, options = {}) => {
    const stdin = options.input === undefined ? {} : { stdin: [...options.input].join('') };
    const { status, stdout, stderr } = await this.world.exec({ host: this.host, argv: [program, ...args], ...stdin });
    return { status: status ?? -1, stdout, stderr };
  };
}

export const IDENTITY = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};

/** Both families of a host at work. */
export class IpvsNode {
  readonly families: readonly IpvsFamily[];
  facts: (family: Family) => IpvsFacts;

  constructor(host: IpvsHost, tracker: Tracker, facts: (family: Family) => IpvsFacts) {
    this.facts = facts;
    this.families = FAMILIES.map((family) => ({
      family,
      tracker,
      identity: IDENTITY,
      mode: ipvsMode,
      drivers: host.drivers(family),
      probe: async () => this.facts(family),
      held: undefined,
      owed: NOTHING_OWED,
    }));
  }

  async sync(): Promise<SyncReport<IpvsPlan, IpvsChange>[]> {
    const reports: SyncReport<IpvsPlan, IpvsChange>[] = [];
    for (const family of this.families) reports.push(await sync(family));
    return reports;
  }

  /** The next sync reads the kernel first, as after a restart. */
  distrust(): void {
    for (const family of this.families) family.held = undefined;
  }
}
