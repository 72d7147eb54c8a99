// What the process takes from the machine, read from /proc/self and from Node.js at each scrape.
// Where /proc lacks a value (another platform, a restricted container) that metric is absent; the others stay.
import { readdir, readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import type { Registry } from './metrics.ts';

export function addProcessMetrics(registry: Registry): void {
  const add = (name: string, type: 'counter' | 'gauge', help: string, read: () => Promise<number | undefined>): void =>
    registry.collected({ name: `process_${name}`, help }, type, async () => {
      const value = await read().catch(() => undefined);
      return value === undefined ? [] : [{ labels: {}, value }];
    });

  add('cpu_seconds_total', 'counter', 'CPU time spent, user and system, in seconds', async () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  add('resident_memory_bytes', 'gauge', 'Resident memory in bytes', async () => process.memoryUsage.rss());
  add('virtual_memory_bytes', 'gauge', 'Virtual memory in bytes', async () =>
    virtualMemoryBytes(await readFile('/proc/self/status', 'utf8')),
  );
  add('virtual_memory_max_bytes', 'gauge', 'Limit on virtual memory in bytes', async () =>
    softLimit(await readFile('/proc/self/limits', 'utf8'), 'Max address space'),
  );
  // One of the descriptors listed is the listing's own.
  add('open_fds', 'gauge', 'Open file descriptors', async () => (await readdir('/proc/self/fd')).length - 1);
  add('max_fds', 'gauge', 'Limit on open file descriptors', async () =>
    softLimit(await readFile('/proc/self/limits', 'utf8'), 'Max open files'),
  );
  add('network_receive_bytes_total', 'counter', 'Bytes received in the network namespace', async () =>
    ipCounter(await readFile('/proc/self/net/netstat', 'utf8'), 'InOctets'),
  );
  add('network_transmit_bytes_total', 'counter', 'Bytes sent from the network namespace', async () =>
    ipCounter(await readFile('/proc/self/net/netstat', 'utf8'), 'OutOctets'),
  );
  addProcessStartTime(registry);
}

/** On its own because the page of service level indicators shows it too. */
export function addProcessStartTime(registry: Registry): void {
  registry.collected(
    { name: 'process_start_time_seconds', help: 'Unix time at which the process started, in seconds' },
    'gauge',
    () => [{ labels: {}, value: performance.timeOrigin / 1000 }],
  );
}

/** From /proc/self/status. */
export function virtualMemoryBytes(status: string): number | undefined {
  const match = /^VmSize:\s+(\d+) kB$/m.exec(status);
  return match ? Number(match[1]) * 1024 : undefined;
}

/** From /proc/self/limits. `unlimited` is the largest number of 64 bits, as Go programs print it. */
export function softLimit(limits: string, name: string): number | undefined {
  const line = limits.split('\n').find((candidate) => candidate.startsWith(name));
  const value = line?.slice(name.length).trim().split(/\s+/)[0];
  if (value === undefined) return undefined;
  return value === 'unlimited' ? 2 ** 64 : Number(value);
}

/** From the IpExt pair of lines, names above values, of /proc/self/net/netstat. */
export function ipCounter(netstat: string, name: string): number | undefined {
  const [names, values] = netstat
    .split('\n')
    .filter((line) => line.startsWith('IpExt:'))
    .map((line) => line.split(' '));
  const value = values?.[names?.indexOf(name) ?? -1];
  return value === undefined ? undefined : Number(value);
}
