// Real servers that are to go. A TCP server that clients are still connected to gets no new connections (weight 0) and is
// deleted when the last of them has ended; all others are deleted at once.
import type { Ipvs } from '../../kernel/ipvs.ts';
import { type RealServer, type ServerKey, serverText } from '../../kernel/ipvs-codec.ts';
import type { NetlinkStep } from '../../kernel/netlink/steps.ts';
import { hostPort } from '../../lib/ip.ts';

export interface Draining {
  readonly server: ServerKey;
  readonly backend: RealServer;
}

export class DrainList {
  readonly #ipvs: Ipvs;
  readonly #draining = new Map<string, Draining>();

  constructor(ipvs: Ipvs) {
    this.#ipvs = ipvs;
  }

  /** Those that wait for their connections to end. */
  get draining(): readonly Draining[] {
    return [...this.#draining.values()];
  }

  isDraining(server: ServerKey, backend: RealServer): boolean {
    return this.#draining.has(keyOf(server, backend));
  }

  /** It is wanted again: true if it was on its way out, and still is in the kernel. */
  takeBack(server: ServerKey, backend: RealServer): boolean {
    return this.#draining.delete(keyOf(server, backend));
  }

  /** The virtual server went, and its real servers with it. */
  forget(server: ServerKey): void {
    const prefix = `${serverText(server)}/`;
    for (const key of this.#draining.keys()) if (key.startsWith(prefix)) this.#draining.delete(key);
  }

  /** Deletes what has no connections and drains the rest. */
  async remove(backends: readonly Draining[]): Promise<void> {
    for (const member of backends) this.#draining.set(keyOf(member.server, member.backend), member);
    await this.#settle(backends);
  }

  /** Deletes those whose connections have ended. */
  check(): Promise<void> {
    return this.#settle(this.draining);
  }

  async #settle(backends: readonly Draining[]): Promise<void> {
    const byServer = Map.groupBy(backends, ({ server }) => serverText(server));
    for (const members of byServer.values()) await this.#removeFrom(members[0]!.server, members);
  }

  async #removeFrom(server: ServerKey, members: readonly Draining[]): Promise<void> {
    const held = new Map((await this.#ipvs.backends(server)).map((backend) => [keyOf(server, backend), backend]));
    const { requests } = this.#ipvs;
    const steps: NetlinkStep[] = [];
    for (const { backend } of members) {
      const key = keyOf(server, backend);
      if (!this.#draining.has(key)) continue; // taken back while the kernel was asked
      const state = held.get(key);
      const connections = state ? state.activeConnections + state.inactiveConnections : 0;
      const isIdle = server.protocol !== 'TCP' || connections === 0;
      if (isIdle) this.#draining.delete(key);
      if (state && isIdle) steps.push(requests.deleteBackend(server, backend));
      else if (state && state.weight !== 0) steps.push(requests.setBackend(server, { ...backend, weight: 0 }));
    }
    await this.#ipvs.send(steps);
  }
}

function keyOf(server: ServerKey, { ip, port }: Pick<RealServer, 'ip' | 'port'>): string {
  return `${serverText(server)}/${hostPort(ip, port)}`;
}
