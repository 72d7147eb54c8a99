// The system calls behind a netlink socket. In: descriptors and bytes. Out: results, or the name of the error.
// The kernel handles a netlink request inside send() itself, so the answer waits in the socket when send() returns:
// receiving never has to block, and what can take long, a big commit, is the sending.
import koffi from 'koffi';
import { errnoName } from './message.ts';

const libc = koffi.load(null);
const call = {
  socket: libc.func('int socket(int domain, int type, int protocol)'),
  bind: libc.func('int bind(int fd, const void *address, unsigned int length)'),
  getsockname: libc.func('int getsockname(int fd, void *address, void *length)'),
  setsockopt: libc.func('int setsockopt(int fd, int level, int name, const void *value, unsigned int length)'),
  send: libc.func('intptr_t send(int fd, const void *data, size_t length, int flags)'),
  recv: libc.func('intptr_t recv(int fd, void *data, size_t length, int flags)'),
  close: libc.func('int close(int fd)'),
};

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const MSG_DONTWAIT = 0x40;

/** A system call said no. `errno` is its name, such as `EPERM`. */
export class SystemCallError extends Error {
  readonly errno: string;

  constructor(operation: string, errno: string) {
    super(`${operation}: ${errno}`);
    this.name = 'SystemCallError';
    this.errno = errno;
  }
}

export function openNetlink(protocol: number): number {
  return check('socket', call.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, protocol));
}

//  sockaddr_nl   family 2 | pad 2 | port 4 | groups 4
/** Binds to a port of the kernel's choice, and returns it. */
export function bindNetlink(fd: number): number {
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF_NETLINK, 0);
  check('bind', call.bind(fd, address, address.length));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(address.length);
  check('getsockname', call.getsockname(fd, address, length));
  return address.readUInt32LE(4);
}

export function setOption(fd: number, level: number, name: number, value: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  check('setsockopt', call.setsockopt(fd, level, name, bytes, bytes.length));
}

export function sendNow(fd: number, data: Uint8Array): void {
  check('send', call.send(fd, data, data.length, 0));
}

/** Sends from another thread, so that the event loop goes on while the kernel works. */
export async function sendAside(fd: number, data: Uint8Array): Promise<void> {
  const sent = await new Promise<number>((resolve, reject) =>
    call.send.async(fd, data, data.length, 0, (error: unknown, result: number) =>
      error ? reject(error) : resolve(result),
    ),
  );
  // The error's number stayed in the other thread. A datagram that was refused was not handled at all, so asking again is
  // safe, and tells.
  if (sent < 0) sendNow(fd, data);
}

/** Number of bytes received; undefined if nothing waits. */
export function receiveInto(fd: number, buffer: Uint8Array): number | undefined {
  const received = call.recv(fd, buffer, buffer.length, MSG_DONTWAIT) as number;
  if (received >= 0) return received;
  const errno = errnoName(koffi.errno());
  if (errno === 'EAGAIN') return undefined;
  if (errno === 'EINTR') return receiveInto(fd, buffer);
  throw new SystemCallError('recv', errno);
}

export function closeDescriptor(fd: number): void {
  call.close(fd);
}

function check(operation: string, result: number): number {
  if (result < 0) throw new SystemCallError(operation, errnoName(koffi.errno()));
  return result;
}
