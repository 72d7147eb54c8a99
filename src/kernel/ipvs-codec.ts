// IPVS over generic netlink, as bytes. In: virtual and real servers. Out: requests; and back from replies to values.
//
//   message body   genlmsghdr | SERVICE { ... } | DEST { ... }
//
// Numbers are in host order, except ports. Replies give addresses 16 bytes whatever the family.
import type { Protocol } from '../api/objects.ts';
import { familyOf, formatIp, hostPort, ipBytes } from '../lib/ip.ts';
import { GENL_HEADER_LENGTH, u16Host, writeU16Host } from './genetlink.ts';
import { IP_PROTOCOL, protocolOf } from './ip-protocol.ts';
import {
  type Attributes,
  type MessageWriter,
  nested,
  readAttributes,
  textOf,
  u16,
  u32Host,
  u64Host,
} from './netlink/attributes.ts';
import type { NetlinkStep } from './netlink/steps.ts';

/** What clients dial, with how connections to it are spread. */
export interface VirtualServer extends ServerKey {
  readonly scheduler: string;
  /** IP_VS_SVC_F_*, without the one that the kernel sets for itself. */
  readonly flags: number;
  /** How long a client stays with its real server, if it is persistent. */
  readonly timeoutSeconds: number;
}

export interface ServerKey {
  readonly protocol: Protocol;
  readonly ip: string;
  readonly port: number;
}

/** Who answers. */
export interface RealServer {
  readonly ip: string;
  readonly port: number;
  /** 0: no new connections. */
  readonly weight: number;
}

export interface RealServerState extends RealServer {
  readonly activeConnections: number;
  /** Closed ones too, until the kernel forgets them. */
  readonly inactiveConnections: number;
  /** Connections that it was given since it is there, where the kernel counts them. */
  readonly givenConnections?: number;
}

/** What a virtual or real server has been given since it is there. */
export interface IpvsTraffic {
  readonly connections: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** Seconds; 0 leaves a timeout as it is. */
export interface IpvsTimeouts {
  readonly tcp: number;
  readonly tcpFin: number;
  readonly udp: number;
}

export const IP_VS_SVC_F_PERSISTENT = 0x0001; // linux/ip_vs.h
const IP_VS_SVC_F_HASHED = 0x0002;
export const IP_VS_SVC_F_SCHED_MH_PORT = 0x0010; // scheduler mh: hash the source port too

const CMD = { newService: 1, setService: 2, delService: 3, getService: 4, newDest: 5, setDest: 6, delDest: 7 } as const;
export const GET_DEST = 8;
export const GET_SERVICE = CMD.getService;
const SET_CONFIG = 12;
export const GET_CONFIG = 13;

const SERVICE = 1;
const DEST = 2;
const TIMEOUT = { tcp: 4, tcpFin: 5, udp: 6 } as const;
const SVC = {
  af: 1,
  protocol: 2,
  addr: 3,
  port: 4,
  schedName: 6,
  flags: 7,
  timeout: 8,
  netmask: 9,
  stats: 10,
} as const;
const DST = {
  addr: 1,
  port: 2,
  fwdMethod: 3,
  weight: 4,
  uThresh: 5,
  lThresh: 6,
  active: 7,
  inactive: 8,
  stats: 10,
} as const;
const STATS = { conns: 1, inBytes: 4, outBytes: 5 } as const;

const AF = { IPv4: 2, IPv6: 10 } as const;
const IP_VS_CONN_F_MASQ = 0;

/** `10.96.0.10:53/UDP` */
export function serverText({ ip, port, protocol }: ServerKey): string {
  return `${hostPort(ip, port)}/${protocol}`;
}

/** The requests of one kernel, which gave IPVS the number `family`. */
export class IpvsRequests {
  readonly #family: number;

  constructor(family: number) {
    this.#family = family;
  }

  addServer(server: VirtualServer): NetlinkStep {
    return this.#service('add', CMD.newService, server, ['EEXIST']);
  }

  setServer(server: VirtualServer): NetlinkStep {
    return this.#service('change', CMD.setService, server, []);
  }

  deleteServer(key: ServerKey): NetlinkStep {
    const write = (writer: MessageWriter): void => writer.nest(SERVICE, () => writeKey(writer, key));
    return this.#step(CMD.delService, write, () => `delete virtual server ${serverText(key)}`, ['ESRCH']);
  }

  addBackend(key: ServerKey, backend: RealServer): NetlinkStep {
    return this.#dest('add', CMD.newDest, key, backend, ['EEXIST']);
  }

  setBackend(key: ServerKey, backend: RealServer): NetlinkStep {
    return this.#dest('change', CMD.setDest, key, backend, []);
  }

  deleteBackend(key: ServerKey, backend: RealServer): NetlinkStep {
    return this.#dest('delete', CMD.delDest, key, backend, ['ESRCH', 'ENOENT']);
  }

  setTimeouts(timeouts: IpvsTimeouts): NetlinkStep {
    const write = (writer: MessageWriter): void => {
      for (const name of ['tcp', 'tcpFin', 'udp'] as const) writer.u32Host(TIMEOUT[name], timeouts[name]);
    };
    return this.#step(SET_CONFIG, write, () => `set timeouts ${JSON.stringify(timeouts)}`, []);
  }

  /** Header and attributes of a request that lists something. */
  query(command: number, key?: ServerKey): Pick<NetlinkStep, 'type' | 'write'> {
    return {
      type: this.#family,
      write: (writer) => {
        writer.raw(command, 1, 0, 0);
        if (key) writer.nest(SERVICE, () => writeKey(writer, key));
      },
    };
  }

  #service(verb: string, command: number, server: VirtualServer, tolerates: readonly string[]): NetlinkStep {
    const write = (writer: MessageWriter): void =>
      writer.nest(SERVICE, () => {
        writeKey(writer, server);
        writer.text(SVC.schedName, server.scheduler);
        writer.bytes(SVC.flags, flagBytes(server.flags));
        writer.u32Host(SVC.timeout, server.timeoutSeconds);
        writer.u32Host(SVC.netmask, familyOf(server.ip) === 'IPv4' ? 0xffffffff : 128);
      });
    return this.#step(command, write, () => `${verb} virtual server ${serverText(server)}`, tolerates);
  }

  #dest(verb: string, command: number, key: ServerKey, backend: RealServer, tolerates: readonly string[]): NetlinkStep {
    const write = (writer: MessageWriter): void => {
      writer.nest(SERVICE, () => writeKey(writer, key));
      writer.nest(DEST, () => {
        writer.bytes(DST.addr, ipBytes(backend.ip));
        writer.u16(DST.port, backend.port);
        writer.u32Host(DST.fwdMethod, IP_VS_CONN_F_MASQ);
        writer.u32Host(DST.weight, backend.weight);
        writer.u32Host(DST.uThresh, 0);
        writer.u32Host(DST.lThresh, 0);
      });
    };
    const describe = (): string =>
      `${verb} real server ${hostPort(backend.ip, backend.port)} (weight ${backend.weight}) of ${serverText(key)}`;
    return this.#step(command, write, describe, tolerates);
  }

  #step(
    command: number,
    write: (writer: MessageWriter) => void,
    describe: () => string,
    tolerates: readonly string[],
  ): NetlinkStep {
    return {
      type: this.#family,
      flags: 0,
      write: (writer) => {
        writer.raw(command, 1, 0, 0);
        write(writer);
      },
      describe,
      tolerates,
    };
  }
}

/** A virtual server in a reply; undefined for one that is known by a firewall mark alone, which are never ours. */
export function readServer(body: Uint8Array): VirtualServer | undefined {
  const service = nested(readAttributes(body, GENL_HEADER_LENGTH), SERVICE);
  const address = service?.get(SVC.addr);
  const protocol = service?.get(SVC.protocol);
  if (!service || !address || !protocol) return undefined;
  const name = protocolOf(u16Host(protocol));
  if (!name) return undefined;
  return {
    protocol: name,
    ip: formatIp(u16Host(service.get(SVC.af)!) === AF.IPv4 ? address.subarray(0, 4) : address),
    port: u16(service.get(SVC.port)!),
    scheduler: textOf(service.get(SVC.schedName)!),
    flags: u32Host(service.get(SVC.flags)!) & ~IP_VS_SVC_F_HASHED,
    timeoutSeconds: u32Host(service.get(SVC.timeout)!),
  };
}

/** `of`: the virtual server whose real servers were asked for; before Linux 3.18 replies do not name the family. */
export function readBackend(body: Uint8Array, of: ServerKey): RealServerState | undefined {
  const dest = nested(readAttributes(body, GENL_HEADER_LENGTH), DEST);
  const address = dest?.get(DST.addr);
  if (!dest || !address) return undefined;
  const given = nested(dest, DST.stats)?.get(STATS.conns);
  return {
    ip: formatIp(familyOf(of.ip) === 'IPv4' ? address.subarray(0, 4) : address),
    port: u16(dest.get(DST.port)!),
    weight: u32Host(dest.get(DST.weight)!),
    activeConnections: u32Host(dest.get(DST.active)!),
    inactiveConnections: u32Host(dest.get(DST.inactive)!),
    ...(given && { givenConnections: u32Host(given) }),
  };
}

/** Of a virtual server in a reply; undefined where the kernel does not count. */
export function readServerTraffic(body: Uint8Array): IpvsTraffic | undefined {
  return trafficOf(nested(readAttributes(body, GENL_HEADER_LENGTH), SERVICE), SVC.stats);
}

/** Of a real server, likewise. */
export function readBackendTraffic(body: Uint8Array): IpvsTraffic | undefined {
  return trafficOf(nested(readAttributes(body, GENL_HEADER_LENGTH), DEST), DST.stats);
}

function trafficOf(server: Attributes | undefined, type: number): IpvsTraffic | undefined {
  const stats = server && nested(server, type);
  if (!stats) return undefined;
  return {
    connections: u32Host(stats.get(STATS.conns)!),
    bytesIn: Number(u64Host(stats.get(STATS.inBytes)!)),
    bytesOut: Number(u64Host(stats.get(STATS.outBytes)!)),
  };
}

export function readTimeouts(body: Uint8Array): IpvsTimeouts {
  const attributes = readAttributes(body, GENL_HEADER_LENGTH);
  const seconds = (type: number): number => u32Host(attributes.get(type)!);
  return { tcp: seconds(TIMEOUT.tcp), tcpFin: seconds(TIMEOUT.tcpFin), udp: seconds(TIMEOUT.udp) };
}

function writeKey(writer: MessageWriter, { protocol, ip, port }: ServerKey): void {
  writeU16Host(writer, SVC.af, AF[familyOf(ip)]);
  writeU16Host(writer, SVC.protocol, IP_PROTOCOL[protocol]);
  writer.bytes(SVC.addr, ipBytes(ip));
  writer.u16(SVC.port, port);
}

/** Flags, and which of them are meant: all. */
function flagBytes(flags: number): Uint8Array {
  const bytes = new Uint8Array(8).fill(0xff);
  new DataView(bytes.buffer).setUint32(0, flags, true);
  return bytes;
}
