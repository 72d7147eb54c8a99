// The metrics page against the list that dashboards and alerts rely on, mode by mode.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { ModeName } from '../../src/modes/mode.ts';
import { negotiateExposition, printMetrics } from '../../src/observe/exposition.ts';
import { Registry } from '../../src/observe/metrics.ts';
import { createPortolanMetrics } from '../../src/observe/portolan-metrics.ts';
import { createProxyMetrics, type ReadNfacct } from '../../src/observe/proxy-metrics.ts';
import { registryWithEverything } from './metrics-all.ts';
import { readMetricsPage } from './metrics-page.ts';

interface ContractMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly buckets?: string;
  readonly modes?: readonly string[];
}

interface Contract {
  readonly buckets: Readonly<Record<string, readonly number[]>>;
  readonly metrics: readonly ContractMetric[];
  readonly own: readonly ContractMetric[];
}

const contract: Contract = JSON.parse(await readFile(new URL('metrics-contract.json', import.meta.url), 'utf8'));
const TEXT = negotiateExposition(undefined);

async function page(mode: ModeName, readNfacct?: ReadNfacct): Promise<string> {
  return printMetrics(await registryWithEverything(mode, readNfacct).gather(), TEXT);
}

function expected(mode: ModeName) {
  return [...contract.metrics.filter(({ modes }) => modes?.includes(mode)), ...contract.own]
    .map(({ name, type, labels, buckets }) => ({
      name,
      type,
      labels,
      ...(buckets && { buckets: contract.buckets[buckets] }),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

for (const mode of ['iptables', 'nftables', 'ipvs', 'userspace'] as const) {
  test(`in ${mode} mode the page has exactly the listed names, types, labels and buckets`, async () => {
    const shown = readMetricsPage(await page(mode)).map(({ help: _, ...metric }) => metric);
    assert.deepEqual(shown, expected(mode));
  });
}

test('help texts tell the stability of each metric', async () => {
  for (const { name, help } of readMetricsPage(await page('iptables'))) {
    if (name.startsWith('process_')) continue; // these belong to no component and have no stability
    const prefix = name.startsWith('kubernetes_') ? '[BETA] ' : '[ALPHA] ';
    assert.ok(help.startsWith(prefix) && help.length > prefix.length + 10, `${name}: ${help}`);
  }
});

test('plain metrics start at 0, and labelled series appear on first use', async () => {
  const registry = new Registry();
  createProxyMetrics(registry, 'iptables', async () => undefined);
  createPortolanMetrics(registry, {});
  const names = readMetricsPage(printMetrics(await registry.gather(), TEXT)).map(({ name }) => name);
  assert.deepEqual(names, [
    'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
    'kubeproxy_sync_proxy_rules_endpoint_changes_total',
    'kubeproxy_sync_proxy_rules_service_changes_pending',
    'kubeproxy_sync_proxy_rules_service_changes_total',
  ]);
});

test('nfacct counters are absent where the kernel has none, and asked for by the name of their object', async () => {
  const asked: string[] = [];
  const text = await page('iptables', async (object) => {
    asked.push(object);
    return undefined;
  });
  assert.deepEqual(asked.sort(), ['ct_state_invalid_dropped_pkts', 'localhost_nps_accepted_pkts']);
  assert.doesNotMatch(text, /kubeproxy_iptables_/);
});

test('a metric that cannot be read is left out and told, and the page still comes', async () => {
  const told: string[] = [];
  const registry = registryWithEverything('iptables', async () => {
    throw new Error('netlink is gone');
  });
  const families = await registry.gather((name) => told.push(name));
  assert.deepEqual(told, [
    'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
    'kubeproxy_iptables_localhost_nodeports_accepted_packets_total',
  ]);
  assert.ok(families.length > 30);
});

test('the process metrics are those of this process', async () => {
  const text = await page('iptables');
  const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  assert.ok(value('process_resident_memory_bytes') > 2 ** 20);
  assert.ok(value('process_virtual_memory_bytes') > value('process_resident_memory_bytes'));
  assert.ok(value('process_open_fds') > 2);
  assert.ok(value('process_max_fds') >= value('process_open_fds'));
  assert.ok(value('process_cpu_seconds_total') > 0);
  assert.ok(Math.abs(value('process_start_time_seconds') - Date.now() / 1000) < 3600);
});
