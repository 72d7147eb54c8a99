// Every metric Portolan has, each with one sample, as a running agent of the given mode would show them.
import type { ModeName } from '../../src/modes/mode.ts';
import { addComponentMetrics } from '../../src/observe/component-metrics.ts';
import { Registry } from '../../src/observe/metrics.ts';
import { createPortolanMetrics } from '../../src/observe/portolan-metrics.ts';
import { addProcessMetrics } from '../../src/observe/process-metrics.ts';
import { createProxyMetrics, type ReadNfacct } from '../../src/observe/proxy-metrics.ts';
import { createRestClientMetrics } from '../../src/observe/rest-client-metrics.ts';

export function registryWithEverything(mode: ModeName, readNfacct: ReadNfacct = async () => 3): Registry {
  const registry = new Registry();
  useEveryMetric(createProxyMetrics(registry, mode, readNfacct));
  addComponentMetrics(
    registry,
    {
      major: '1',
      minor: '36',
      gitVersion: 'v1.36.4',
      gitCommit: 'abc',
      gitTreeState: 'clean',
      buildDate: '2026-03-02T09:14:31Z',
      goVersion: 'node24.21.0',
      compiler: 'v8',
      platform: 'linux/amd64',
    },
    [
      { name: 'NFTablesProxyMode', stage: '', isEnabled: true },
      { name: 'NativeHistograms', stage: 'ALPHA', isEnabled: false },
    ],
  );
  const client = createRestClientMetrics(registry);
  const request = { method: 'GET', host: '10.96.0.1:443' };
  client.requested({ ...request, code: '200', durationSeconds: 0.01, requestBytes: 0, responseBytes: 5000 });
  client.waited({ ...request, seconds: 0.2 });
  client.retried({ ...request, code: '401' });
  addProcessMetrics(registry);
  const portolan = createPortolanMetrics(registry, {
    apiFreshnessSeconds: () => new Map([['services', 1.5]]),
    problems: () => 2,
    driftFound: () => new Map([['IPv4', 1]]),
  });
  portolan.syncFailures.of({ ip_family: 'IPv4', code: 'KERNEL_REFUSED' }).increment();
  return registry;
}

function useEveryMetric(metrics: ReturnType<typeof createProxyMetrics>): void {
  const family = { ip_family: 'IPv4' };
  metrics.syncDuration.of(family).observe(0.01);
  metrics.syncFullDuration.of(family).observe(0.01);
  metrics.syncPartialDuration.of(family).observe(0.01);
  metrics.lastSyncTimestamp.of(family).set(1772442871.4);
  metrics.lastQueuedTimestamp.of(family).set(1772442871.4);
  metrics.networkProgrammingDuration.of(family).observe(61);
  metrics.endpointChanges.increment();
  metrics.serviceChanges.increment();
  metrics.noLocalEndpoints.of({ traffic_policy: 'internal', ...family }).set(1);
  metrics.healthzAnswers.of({ code: '200' }).increment();
  metrics.livezAnswers.of({ code: '503' }).increment();
  metrics.iptablesRules.of({ table: 'nat', ...family }).set(40);
  metrics.iptablesRulesWritten.of({ table: 'nat', ...family }).set(4);
  metrics.iptablesRestoreFailures.of(family).increment();
  metrics.iptablesPartialRestoreFailures.of(family).increment();
  metrics.nftablesSyncFailures.of(family).increment();
  metrics.nftablesCleanupFailures.of(family).increment();
  metrics.conntrackSyncDuration.of(family).observe(0.002);
  metrics.conntrackDeletedEntries.of(family).increment(7);
}
