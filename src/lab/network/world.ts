// The inside of a network: makes hosts and cables, serves in every host, runs programs there and asks from there. One
// process for all of them. It knows nothing of sandboxes or messages; inside.ts brings it requests.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import dgram from 'node:dgram';
import net from 'node:net';
import { cidrAddress, familyOf } from '../../lib/ip.ts';
import { answerOn } from './answer.ts';
import { type Attempt, attempt, type Target } from './attempt.ts';
import {
  allowBothFamilies,
  allowReuse,
  bindSocket,
  connectSocket,
  listenSocket,
  openSocket,
  type Transport,
} from './libc.ts';
import type { Address, Command, ExecResult } from './messages.ts';
import { Namespaces } from './namespace.ts';
import { getPage, type PageProbe, type PageResult } from './page.ts';
import { type PacketProbe, type PacketResult, parseTarget, probePackets } from './probe.ts';
import { finish, start } from './processes.ts';
import { COMMON_SYSCTLS, type Host, hostLines, linesByHost, linkLines, ruleLines, type Topology } from './topology.ts';

interface Resident {
  readonly host: Host;
  readonly addresses: Set<string>;
  readonly children: Set<ChildProcessWithoutNullStreams>;
  readonly stopServers: () => void;
  lastSourcePort: number;
}

// Every attempt of a host has a port of its own, so that none meets what the kernel remembers of an earlier one. Below are
// node ports.
const SOURCE_PORTS = { first: 33_000, last: 65_000 };

export class World {
  readonly #namespaces = new Namespaces();
  readonly #residents = new Map<string, Resident>();

  async add(topology: Topology): Promise<void> {
    await this.#batch(undefined, hostLines(topology));
    for (const host of topology.hosts) {
      this.#namespaces.setSysctls(host.name, { ...COMMON_SYSCTLS, ...host.sysctls });
    }
    await this.#batch(undefined, linkLines(topology));
    const lines = [...linesByHost(topology)];
    await Promise.all(lines.map(([host, hostLines]) => this.#batch(host, hostLines)));
    await Promise.all(topology.hosts.flatMap((host) => this.#addRules(host)));
    for (const host of topology.hosts) this.#residents.set(host.name, this.#settle(host));
    for (const end of topology.links.flat()) {
      const { addresses } = this.#resident(end.host);
      for (const cidr of end.addresses ?? []) addresses.add(cidrAddress(cidr));
    }
  }

  /** Its cables go with it, and its neighbours' routes with the cables. */
  async remove(name: string): Promise<void> {
    const resident = this.#resident(name);
    this.#residents.delete(name);
    resident.stopServers();
    for (const child of resident.children) child.kill('SIGKILL');
    // The kernel keeps a namespace while someone is in it, but the cables must be gone now.
    const { stdout } = await this.#run(name, ['ip', '-br', 'link', 'show', 'type', 'veth']);
    const devices = stdout.split('\n').flatMap((line) => /^([^@\s]+)/.exec(line)?.[1] ?? []);
    await this.#batch(
      name,
      devices.map((device) => `link del ${device}`),
    );
    this.#namespaces.forget(name);
    await this.#batch(undefined, [`netns del ${name}`]);
  }

  start(command: Command): ChildProcessWithoutNullStreams {
    const { children } = this.#resident(command.host);
    const child = this.#namespaces.enter(command.host, () => start(command));
    children.add(child);
    child.on('close', () => children.delete(child));
    return child;
  }

  exec(command: Command): Promise<ExecResult> {
    return finish(this.start(command));
  }

  probePackets(probe: PacketProbe): Promise<PacketResult> {
    const asker = this.#resident(probe.from);
    const ownAddresses = probe.bind ? new Set([probe.bind]) : asker.addresses;
    const ownerOf = (ip: string) => (this.#isOfProxiedHost(ip) ? 'node' : ownAddresses.has(ip) ? 'client' : ip);
    return probePackets(probe, (transport, target) => this.#ask(asker, transport, target), ownerOf);
  }

  getPage({ from, http }: PageProbe): Promise<PageResult> {
    const { ip, port } = parseTarget(http.slice(0, http.indexOf('/')));
    const fd = this.#connected(from, ip, port);
    return getPage(http, new net.Socket({ fd, readable: true, writable: true }));
  }

  listen({ host, ip, port }: Address): net.Server {
    const fd = this.#namespaces.enter(host, () => openSocket('tcp', familyOf(ip)));
    allowReuse(fd);
    if (ip === '::') allowBothFamilies(fd);
    bindSocket(fd, ip, port);
    listenSocket(fd);
    return net.createServer().listen({ fd });
  }

  listenUdp({ host, ip, port }: Address): dgram.Socket {
    const family = familyOf(ip);
    const fd = this.#namespaces.enter(host, () => openSocket('udp', family));
    if (ip === '::') allowBothFamilies(fd);
    bindSocket(fd, ip, port);
    return dgram.createSocket(family === 'IPv4' ? 'udp4' : 'udp6').bind({ fd, exclusive: true });
  }

  /** A socket on its way to an address. Nothing is read from it here, so that it can be given away whole. */
  connect({ host, ip, port }: Address): net.Socket {
    return new net.Socket({ fd: this.#connected(host, ip, port), readable: false, writable: true });
  }

  #connected(host: string, ip: string, port: number): number {
    const fd = this.#namespaces.enter(host, () => openSocket('tcp', familyOf(ip)));
    connectSocket(fd, ip, port);
    return fd;
  }

  #ask(asker: Resident, transport: Transport, target: Omit<Target, 'sourcePort'>): Promise<Attempt> {
    for (;;) {
      const { first, last } = SOURCE_PORTS;
      asker.lastSourcePort = asker.lastSourcePort < last ? asker.lastSourcePort + 1 : first;
      const sourcePort = asker.lastSourcePort;
      const asked = this.#namespaces.enter(asker.host.name, () => attempt(transport, { ...target, sourcePort }));
      if (asked) return asked;
    }
  }

  #settle(host: Host): Resident {
    return {
      host,
      addresses: new Set(),
      children: new Set(),
      stopServers: this.#namespaces.enter(host.name, () => answerOn(host.name, host.serves ?? [])),
      lastSourcePort: SOURCE_PORTS.first,
    };
  }

  #resident(name: string): Resident {
    const resident = this.#residents.get(name);
    if (!resident) throw new Error(`no host ${name} in this network`);
    return resident;
  }

  #isOfProxiedHost(ip: string): boolean {
    return [...this.#residents.values()].some(({ host, addresses }) => host.isProxied && addresses.has(ip));
  }

  #addRules(host: Host): Promise<void>[] {
    return ['-4', '-6'].map((family) => this.#batch(host.name, ruleLines(host), family));
  }

  async #batch(host: string | undefined, lines: readonly string[], ...options: string[]): Promise<void> {
    if (lines.length === 0) return;
    const { status, stderr } = await this.#run(host, ['ip', ...options, '-batch', '-'], `${lines.join('\n')}\n`);
    if (status !== 0) throw new Error(`ip -batch in ${host ?? 'the sandbox'}: ${stderr.trim()}\n${lines.join('\n')}`);
  }

  #run(host: string | undefined, argv: readonly string[], stdin = ''): Promise<ExecResult> {
    const begin = () => start({ argv, stdin });
    return finish(host === undefined ? begin() : this.#namespaces.enter(host, begin));
  }
}
