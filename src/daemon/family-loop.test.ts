import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import { createLog, DEFAULT_LOG_SETTINGS } from '../observe/log.ts';
import { Registry } from '../observe/metrics.ts';
import { createPortolanMetrics } from '../observe/portolan-metrics.ts';
import { createProxyMetrics } from '../observe/proxy-metrics.ts';
import type { ServiceHealthServers } from '../observe/service-health.ts';
import type { SyncReport } from '../pipeline.ts';
import { FamilyLoop } from './family-loop.ts';
import type { ForeignHands, ModeRuntime } from './runtime.ts';

/** A loop whose syncs all fail, over a kernel that is known at first and doubted from then on. */
function failingLoop() {
  const registry = new Registry();
  const metrics = createProxyMetrics(registry, 'nftables', async () => undefined);
  const failures: boolean[] = [];
  let isKnown = true;
  let hands: ForeignHands | undefined;
  const runtime: Partial<ModeRuntime> = {
    checksHourly: false,
    knowsKernel: () => isKnown,
    sync: async (): Promise<SyncReport> => {
      isKnown = false;
      throw new Error('no');
    },
    distrust: () => {
      isKnown = false;
    },
    countFailure: (_, wasFull) => failures.push(wasFull),
    watch: async (listener) => {
      hands = listener;
    },
  };
  const loop = new FamilyLoop({
    family: 'IPv4',
    runtime: runtime as ModeRuntime,
    clock: systemClock,
    log: createLog(DEFAULT_LOG_SETTINGS, { write: () => {}, now: () => 0, pid: 1 }),
    metrics,
    portolanMetrics: createPortolanMetrics(registry, {
      apiFreshnessSeconds: () => new Map(),
      problems: () => 0,
      driftFound: () => new Map(),
    }),
    serviceHealth: {} as ServiceHealthServers,
    minSyncPeriodMs: 0,
    syncPeriodMs: 1,
    deleteStaleFlows: async () => 0,
    deleteStrayConnections: async () => 0,
    onQueued: () => {},
    onUpdated: () => {},
    onReport: () => {},
    onFirstSync: () => {},
    onTrouble: () => {},
  });
  const samples = async (name: string): Promise<number | undefined> => {
    const families = await registry.gather(() => {});
    const found = families.find((family) => family.name === name);
    return found?.samples.length;
  };
  return { loop, failures, samples, hands: () => hands };
}

test('the first sync that fails over a kernel that was known is a partial one, those after it are full', async () => {
  const { loop, failures } = failingLoop();
  const stop = new AbortController();
  loop.requestSync();
  const running = loop.run(stop.signal);
  while (failures.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await running;
  assert.deepEqual(failures.slice(0, 3), [false, true, true]);
});

test('what could not be deleted is counted, and leads to a look at the kernel', async () => {
  const { loop, failures, samples, hands } = failingLoop();
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  hands()?.leftBehind('a chain');
  while (failures.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await running;
  assert.equal(failures[0], true);
  assert.equal(await samples('kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total'), 1);
});
