// The kernel, or a tool in front of it, said no. The message says what we tried, on what, and what was answered.

export type KernelErrorCode =
  | 'KERNEL_REFUSED' // the kernel answered a request with an error
  | 'KERNEL_UNREACHABLE' // a netlink socket could not be opened, or a request got no answer
  | 'TOOL_FAILED' // a program such as iptables-restore ended with an error
  | 'TOOL_MISSING' // a program is not installed
  | 'LOCK_TIMEOUT' // another program kept the xtables lock
  | 'SYSCTL_FAILED'; // a file under /proc/sys could not be read or written

export interface KernelErrorDetail {
  /** `nftables.commit` */
  readonly operation: string;
  /** `ENOENT`, where the kernel gave one. */
  readonly errno?: string;
  /** What was answered, and to which part of the request. */
  readonly detail: string;
  readonly cause?: unknown;
}

export class KernelError extends Error {
  readonly code: KernelErrorCode;
  readonly operation: string;
  readonly errno: string | undefined;

  constructor(code: KernelErrorCode, { operation, errno, detail, cause }: KernelErrorDetail) {
    super(`${operation}: ${detail}${errno ? `: ${errno}` : ''}`, { cause });
    this.name = 'KernelError';
    this.code = code;
    this.operation = operation;
    this.errno = errno;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KernelError && error.errno === 'ENOENT';
}

/** A datagram that does not fit the socket's buffer. */
export function isTooLong(error: unknown): boolean {
  return error instanceof KernelError && error.errno === 'EMSGSIZE';
}
