// The kernel's IPVS, of the network namespace where the socket was opened. In: requests. Out: what it holds.
import { KernelError } from './error.ts';
import { genericFamily } from './genetlink.ts';
import {
  GET_CONFIG,
  GET_DEST,
  GET_SERVICE,
  IpvsRequests,
  type IpvsTimeouts,
  type IpvsTraffic,
  type RealServer,
  type RealServerState,
  readBackend,
  readBackendTraffic,
  readServer,
  readServerTraffic,
  readTimeouts,
  type ServerKey,
  serverText,
  type VirtualServer,
} from './ipvs-codec.ts';
import { NLM_F_ACK, NLM_F_DUMP } from './netlink/message.ts';
import { NetlinkSocket } from './netlink/socket.ts';
import { encodeQuery, type NetlinkStep, sendSteps } from './netlink/steps.ts';

// A virtual server nobody can mean (a documentation address), made and removed to hear whether a scheduler exists.
const SCHEDULER_PROBE: ServerKey = { protocol: 'TCP', ip: '198.51.100.0', port: 20000 };

const MAX_SCHEDULER_LENGTH = 15; // IP_VS_SCHEDNAME_MAXLEN without its NUL

export class Ipvs {
  readonly requests: IpvsRequests;
  readonly #socket: NetlinkSocket;

  /** Undefined if this kernel has no IPVS. `socket` becomes this object's own. */
  static async open(socket = new NetlinkSocket('generic')): Promise<Ipvs | undefined> {
    const family = await genericFamily(socket, 'IPVS');
    if (family !== undefined) return new Ipvs(socket, family);
    socket.close();
    return undefined;
  }

  private constructor(socket: NetlinkSocket, family: number) {
    this.#socket = socket;
    this.requests = new IpvsRequests(family);
  }

  /** Every virtual server that is known by its address. */
  servers(): Promise<VirtualServer[]> {
    return this.#socket.list(
      (sequence) => this.#query(GET_SERVICE, undefined, NLM_F_DUMP, sequence),
      'ipvs.servers',
      ({ body }) => readServer(body),
    );
  }

  /** None if there is no such virtual server. */
  backends(key: ServerKey): Promise<RealServerState[]> {
    return this.#socket.list(
      (sequence) => this.#query(GET_DEST, key, NLM_F_DUMP, sequence),
      `ipvs.backends ${serverText(key)}`,
      ({ body }) => readBackend(body, key),
    );
  }

  /** What every virtual server has been given. */
  serverTraffic(): Promise<(ServerKey & IpvsTraffic)[]> {
    return this.#socket.list(
      (sequence) => this.#query(GET_SERVICE, undefined, NLM_F_DUMP, sequence),
      'ipvs.serverTraffic',
      ({ body }) => {
        const [server, traffic] = [readServer(body), readServerTraffic(body)];
        return server && traffic && { protocol: server.protocol, ip: server.ip, port: server.port, ...traffic };
      },
    );
  }

  /** And what each of its real servers has. */
  backendTraffic(key: ServerKey): Promise<(RealServer & IpvsTraffic)[]> {
    return this.#socket.list(
      (sequence) => this.#query(GET_DEST, key, NLM_F_DUMP, sequence),
      `ipvs.backendTraffic ${serverText(key)}`,
      ({ body }) => {
        const [backend, traffic] = [readBackend(body, key), readBackendTraffic(body)];
        return backend && traffic && { ip: backend.ip, port: backend.port, weight: backend.weight, ...traffic };
      },
    );
  }

  async timeouts(): Promise<IpvsTimeouts> {
    const sequence = this.#socket.takeSequence();
    const request = this.#query(GET_CONFIG, undefined, NLM_F_ACK, sequence);
    const [reply] = await this.#socket.request(request, sequence, 'ipvs.timeouts');
    if (!reply) throw new KernelError('KERNEL_UNREACHABLE', { operation: 'ipvs.timeouts', detail: 'no reply' });
    return readTimeouts(reply.body);
  }

  send(steps: readonly NetlinkStep[]): Promise<void> {
    return sendSteps(this.#socket, steps, 'ipvs.send');
  }

  /** Whether the kernel has a scheduler. Where it is a module, asking loads it. */
  async hasScheduler(scheduler: string): Promise<boolean> {
    if (scheduler.length > MAX_SCHEDULER_LENGTH) return false;
    const servers = await this.servers();
    if (servers.some((server) => server.scheduler === scheduler)) return true;
    try {
      await this.send([this.requests.addServer({ ...SCHEDULER_PROBE, scheduler, flags: 0, timeoutSeconds: 0 })]);
    } catch (error) {
      if (error instanceof KernelError && error.errno === 'ENOENT') return false;
      throw error;
    }
    await this.send([this.requests.deleteServer(SCHEDULER_PROBE)]);
    return true;
  }

  close(): void {
    this.#socket.close();
  }

  #query(command: number, key: ServerKey | undefined, flags: number, sequence: number): Uint8Array {
    const { type, write } = this.requests.query(command, key);
    return encodeQuery(type, flags, sequence, write);
  }
}
