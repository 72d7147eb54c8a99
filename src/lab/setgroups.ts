// Replaces this process by a program for which setgroups() always succeeds and does nothing. An ordinary user is root in the
// lab alone, and the kernel lets such a root change everything but its groups. Programs that insist, such as tcpdump, which
// gives up its rights before it looks at packets, would refuse to work.
import koffi from 'koffi';

const libc = koffi.load(null);
const call = {
  prctl: libc.func('int prctl(int option, unsigned long a, void *b, unsigned long c, unsigned long d)'),
  fcntl: libc.func('int fcntl(int fd, int command, ...)'),
  signal: libc.func('void *signal(int number, void *handler)'),
  execvp: libc.func('int execvp(const char *file, const char **argv)'),
};

const PR_SET_SECCOMP = 22; // linux/prctl.h
const SECCOMP_MODE_FILTER = 2n;
const F_SETFD = 2; // linux/fcntl.h
const SIGPIPE = 13;

// linux/bpf_common.h, linux/seccomp.h
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const SAY_IT_WORKED = 0x00050000; // SECCOMP_RET_ERRNO with no error
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;

/** By process.arch: the kernel's number for the architecture, and setgroups' there. */
const SETGROUPS: Readonly<Record<string, { readonly architecture: number; readonly number: number }>> = {
  x64: { architecture: 0xc000003e, number: 116 },
  arm64: { architecture: 0xc00000b7, number: 159 },
};

/** Does not return unless it fails. */
export function becomeWithQuietSetgroups(argv: readonly string[]): never {
  const found = SETGROUPS[process.arch];
  if (found) install(found.architecture, found.number);
  // Node ignores this signal, which would be inherited, and has its first descriptors closed at this point.
  call.signal(SIGPIPE, null);
  for (const fd of [0, 1, 2]) call.fcntl(fd, F_SETFD, 'int', 0);
  call.execvp(argv[0]!, [...argv, null]);
  throw new Error(`${argv[0]} could not be started: errno ${koffi.errno()}`);
}

function install(architecture: number, number: number): void {
  const filter = Buffer.concat([
    instruction(LOAD_WORD, 0, 0, ARCHITECTURE_AT),
    instruction(JUMP_IF_EQUAL, 0, 3, architecture),
    instruction(LOAD_WORD, 0, 0, NUMBER_AT),
    instruction(JUMP_IF_EQUAL, 0, 1, number),
    instruction(RETURN, 0, 0, SAY_IT_WORKED),
    instruction(RETURN, 0, 0, ALLOW),
  ]);
  //  struct sock_fprog   instructions 2 | padding 6 | where they are 8
  const program = Buffer.alloc(16);
  program.writeUInt16LE(filter.length / 8, 0);
  program.writeBigUInt64LE(BigInt(koffi.address(filter)), 8);
  if (call.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0n, 0n) !== 0)
    throw new Error(`the filter for setgroups was refused: errno ${koffi.errno()}`);
}

//  struct sock_filter   code 2 | steps if true 1 | steps if false 1 | operand 4
function instruction(code: number, ifTrue: number, ifFalse: number, operand: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(operand >>> 0, 4);
  return bytes;
}
