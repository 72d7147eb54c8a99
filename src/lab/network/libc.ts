// The few system calls that Node has no name for: to step into a network namespace, and to make a socket at once, in the
// namespace where the thread stands (Node's own sockets come into being a moment later). In: addresses and ports. Out:
// descriptors, to be handed to Node.
import koffi from 'koffi';
import { type Family, familyOf, ipBytes } from '../../lib/ip.ts';

const libc = koffi.load(null);
const call = {
  setns: libc.func('int setns(int fd, int nstype)'),
  socket: libc.func('int socket(int domain, int type, int protocol)'),
  bind: libc.func('int bind(int fd, const void *address, unsigned int length)'),
  connect: libc.func('int connect(int fd, const void *address, unsigned int length)'),
  listen: libc.func('int listen(int fd, int backlog)'),
  setsockopt: libc.func('int setsockopt(int fd, int level, int name, const void *value, unsigned int length)'),
  send: libc.func('intptr_t send(int fd, const void *data, size_t length, int flags)'),
  recv: libc.func('intptr_t recv(int fd, void *data, size_t length, int flags)'),
  fcntl: libc.func('int fcntl(int fd, int command, ...)'),
};

const CLONE_NEWNET = 0x40000000; // linux/sched.h
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_TYPE = { tcp: 1, udp: 2 } as const;
const SOCK_NONBLOCK_CLOEXEC = 0o2004000;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const IPPROTO_IP = 0;
const IP_RECVERR = 11;
const IPPROTO_IPV6 = 41;
const IPV6_RECVERR = 25;
const IPV6_V6ONLY = 26;
const F_DUPFD_CLOEXEC = 1030;
const MSG_ERRQUEUE = 0x2000;

export type Transport = 'tcp' | 'udp';

export class LibcError extends Error {
  readonly code: string;

  constructor(operation: string, errno: number) {
    const code = ERRNO_NAMES.get(errno) ?? String(errno);
    super(`${operation}: ${code}`);
    this.name = 'LibcError';
    this.code = code;
  }
}

const ERRNO_NAMES = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));

/** Moves the calling thread. */
export function setNetworkNamespace(fd: number): void {
  check('setns', call.setns(fd, CLONE_NEWNET));
}

export function openSocket(transport: Transport, family: Family): number {
  const domain = family === 'IPv4' ? AF_INET : AF_INET6;
  return check('socket', call.socket(domain, SOCK_TYPE[transport] | SOCK_NONBLOCK_CLOEXEC, 0));
}

export function bindSocket(fd: number, ip: string, port: number): void {
  const address = socketAddress(ip, port);
  check(`bind ${ip} ${port}`, call.bind(fd, address, address.length));
}

/** A TCP connection is under way when this returns: the sockets do not block. */
export function connectSocket(fd: number, ip: string, port: number): void {
  const address = socketAddress(ip, port);
  if (call.connect(fd, address, address.length) < 0 && koffi.errno() !== koffi.os.errno.EINPROGRESS) {
    throw new LibcError(`connect ${ip} ${port}`, koffi.errno());
  }
}

export function listenSocket(fd: number): void {
  check('listen', call.listen(fd, 511));
}

export function sendSocket(fd: number, data: Uint8Array): void {
  check('send', call.send(fd, data, data.length, 0));
}

export function duplicate(fd: number): number {
  return check('fcntl', call.fcntl(fd, F_DUPFD_CLOEXEC, 'int', 0));
}

/** Lets a server start again on a port whose last connections linger. */
export function allowReuse(fd: number): void {
  setFlag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

/** Lets an IPv6 socket serve IPv4 too, whatever the machine's default. */
export function allowBothFamilies(fd: number): void {
  setFlag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
}

/** Has the kernel keep ICMP errors apart for `hasIcmpError`. */
export function keepIcmpErrors(fd: number, family: Family): void {
  if (family === 'IPv4') setFlag(fd, IPPROTO_IP, IP_RECVERR, 1);
  else setFlag(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

/** Whether an ICMP error came back. It is how a REJECT differs from a TCP reset: connect() answers ECONNREFUSED to both. */
export function hasIcmpError(fd: number): boolean {
  // The queue holds one message per error. An empty queue answers EAGAIN, and a reset leaves it empty.
  return call.recv(fd, Buffer.alloc(256), 256, MSG_ERRQUEUE) >= 0;
}

function setFlag(fd: number, level: number, name: number, value: number): void {
  const bytes = new Uint8Array(Int32Array.of(value).buffer);
  check('setsockopt', call.setsockopt(fd, level, name, bytes, bytes.length));
}

//  sockaddr_in    family 2 | port 2 | address 4 | zero 8
//  sockaddr_in6   family 2 | port 2 | flow 4 | address 16 | scope 4
function socketAddress(ip: string, port: number): Uint8Array {
  const isIPv4 = familyOf(ip) === 'IPv4';
  const bytes = new Uint8Array(isIPv4 ? 16 : 28);
  bytes.set(new Uint8Array(Uint16Array.of(isIPv4 ? AF_INET : AF_INET6).buffer));
  bytes.set([port >> 8, port & 0xff], 2);
  bytes.set(ipBytes(ip), isIPv4 ? 4 : 8);
  return bytes;
}

function check(operation: string, result: number): number {
  if (result < 0) throw new LibcError(operation, koffi.errno());
  return result;
}
