// Network namespaces by name, and work done inside one. A socket stays in the namespace where it was made and a process
// in the one where it was started, so one process serves and probes every host: it steps in, makes the socket, steps out.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { setNetworkNamespace } from './libc.ts';

export class Namespaces {
  readonly #home = openSync('/proc/self/ns/net', 'r');
  readonly #open = new Map<string, number>();

  /** Calls `work` in a host's namespace. It must not wait for anything: the whole thread is there meanwhile. */
  enter<T>(host: string, work: () => T): T {
    setNetworkNamespace(this.#descriptor(host));
    try {
      return work();
    } finally {
      setNetworkNamespace(this.#home);
    }
  }

  setSysctls(host: string, values: Readonly<Record<string, string>>): void {
    this.enter(host, () => {
      for (const [path, value] of Object.entries(values)) writeFileSync(`/proc/sys/net/${path}`, `${value}\n`);
    });
  }

  forget(host: string): void {
    const fd = this.#open.get(host);
    if (fd === undefined) return;
    this.#open.delete(host);
    closeSync(fd);
  }

  #descriptor(host: string): number {
    let fd = this.#open.get(host);
    if (fd === undefined) {
      fd = openSync(`/run/netns/${host}`, 'r');
      this.#open.set(host, fd);
    }
    return fd;
  }
}
