import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipCounter, softLimit, virtualMemoryBytes } from './process-metrics.ts';

test('values are found in what /proc prints, and their absence is no error', () => {
  assert.equal(virtualMemoryBytes('Name:\tnode\nVmSize:\t  1000 kB\nVmRSS:\t 10 kB\n'), 1_024_000);
  assert.equal(virtualMemoryBytes('Name:\tnode\n'), undefined);

  const limits =
    'Limit                     Soft Limit           Hard Limit           Units\n' +
    'Max open files            1024                 524288               files\n' +
    'Max address space         unlimited            unlimited            bytes\n';
  assert.equal(softLimit(limits, 'Max open files'), 1024);
  assert.equal(softLimit(limits, 'Max address space'), 2 ** 64);
  assert.equal(softLimit(limits, 'Max cpu time'), undefined);

  const netstat = 'TcpExt: A B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 70 80\n';
  assert.equal(ipCounter(netstat, 'InOctets'), 70);
  assert.equal(ipCounter(netstat, 'OutOctets'), 80);
  assert.equal(ipCounter(netstat, 'Missing'), undefined);
  assert.equal(ipCounter('', 'InOctets'), undefined);
});
