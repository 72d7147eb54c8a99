// The metrics of kube-proxy: names, types, labels and buckets are upstream's, so that dashboards and alerts keep working.
// A metric that does not belong to the running mode can be set like any other but does not appear on the page.
import type { ModeName } from '../modes/mode.ts';
import { type By, type Counter, type Gauge, type Histogram, Registry } from './metrics.ts';

export interface ProxyMetrics {
  readonly syncDuration: By<'ip_family', Histogram>;
  readonly syncFullDuration: By<'ip_family', Histogram>;
  readonly syncPartialDuration: By<'ip_family', Histogram>;
  readonly lastSyncTimestamp: By<'ip_family', Gauge>;
  readonly lastQueuedTimestamp: By<'ip_family', Gauge>;
  readonly networkProgrammingDuration: By<'ip_family', Histogram>;
  readonly endpointChangesPending: Gauge;
  readonly endpointChanges: Counter;
  readonly serviceChangesPending: Gauge;
  readonly serviceChanges: Counter;
  readonly noLocalEndpoints: By<'traffic_policy' | 'ip_family', Gauge>;
  readonly healthzAnswers: By<'code', Counter>;
  readonly livezAnswers: By<'code', Counter>;
  readonly iptablesRules: By<'table' | 'ip_family', Gauge>;
  readonly iptablesRulesWritten: By<'table' | 'ip_family', Gauge>;
  readonly iptablesRestoreFailures: By<'ip_family', Counter>;
  readonly iptablesPartialRestoreFailures: By<'ip_family', Counter>;
  readonly nftablesSyncFailures: By<'ip_family', Counter>;
  readonly nftablesCleanupFailures: By<'ip_family', Counter>;
  readonly conntrackSyncDuration: By<'ip_family', Histogram>;
  readonly conntrackDeletedEntries: By<'ip_family', Counter>;
}

/** Packets counted by an nfacct object, or undefined if there is no such object or no such kernel feature. */
export type ReadNfacct = (object: string) => Promise<number | undefined>;

/** 0.001, 0.002, 0.004 and so on to 16.384 seconds. */
export const SYNC_BUCKETS = Array.from({ length: 15 }, (_, k) => 2 ** k / 1000);

export const NETWORK_PROGRAMMING_BUCKETS = [
  0.25,
  0.5,
  ...steps(1, 59, 1),
  ...steps(60, 115, 5),
  ...steps(120, 300, 30),
];

export function createProxyMetrics(registry: Registry, mode: ModeName, readNfacct: ReadNfacct): ProxyMetrics {
  const hidden = new Registry();
  const only = (...modes: readonly ModeName[]): Registry => (modes.includes(mode) ? registry : hidden);
  const all = only('iptables', 'nftables', 'ipvs'); // userspace mode has none, as it never had
  const iptables = only('iptables');
  const nftables = only('nftables');
  const withPartialSync = only('iptables', 'nftables');
  const family = ['ip_family'] as const;
  const tableAndFamily = ['table', 'ip_family'] as const;

  nfacctCounter(iptables, readNfacct, {
    name: 'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
    help: '[ALPHA] Packets dropped because connection tracking found them invalid',
    object: 'ct_state_invalid_dropped_pkts',
  });
  nfacctCounter(iptables, readNfacct, {
    name: 'kubeproxy_iptables_localhost_nodeports_accepted_packets_total',
    help: '[ALPHA] Packets accepted on node ports of the loopback address',
    object: 'localhost_nps_accepted_pkts',
  });

  return {
    syncDuration: all.histogramBy(
      sync('duration_seconds', 'Duration of each sync, full or partial, failed or not, in seconds'),
      family,
      SYNC_BUCKETS,
    ),
    syncFullDuration: withPartialSync.histogramBy(
      {
        name: 'kubeproxy_sync_full_proxy_rules_duration_seconds',
        help: '[ALPHA] Duration of syncs that wrote every rule, in seconds',
      },
      family,
      SYNC_BUCKETS,
    ),
    syncPartialDuration: withPartialSync.histogramBy(
      {
        name: 'kubeproxy_sync_partial_proxy_rules_duration_seconds',
        help: '[ALPHA] Duration of syncs that wrote only what changed, in seconds',
      },
      family,
      SYNC_BUCKETS,
    ),
    lastSyncTimestamp: all.gaugeBy(
      sync('last_timestamp_seconds', 'Unix time of the last successful sync, in seconds'),
      family,
    ),
    lastQueuedTimestamp: all.gaugeBy(
      sync('last_queued_timestamp_seconds', 'Unix time at which a sync was last requested, in seconds'),
      family,
    ),
    networkProgrammingDuration: all.histogramBy(
      {
        name: 'kubeproxy_network_programming_duration_seconds',
        help: '[ALPHA] Time from the change of a pod or Service to the rules that follow it, in seconds',
      },
      family,
      NETWORK_PROGRAMMING_BUCKETS,
    ),
    endpointChangesPending: all.gauge(sync('endpoint_changes_pending', 'EndpointSlice changes not yet applied')),
    endpointChanges: all.counter(sync('endpoint_changes_total', 'EndpointSlice events received')),
    serviceChangesPending: all.gauge(sync('service_changes_pending', 'Services with changes not yet applied')),
    serviceChanges: all.counter(sync('service_changes_total', 'Service events received, once for each IP family')),
    noLocalEndpoints: all.gaugeBy(
      sync(
        'no_local_endpoints_total',
        'Service ports with a Local policy whose usable endpoints are all on other nodes',
      ),
      ['traffic_policy', 'ip_family'],
    ),
    healthzAnswers: all.counterBy(
      { name: 'kubeproxy_proxy_healthz_total', help: '[ALPHA] Answers of /healthz by status code' },
      ['code'],
    ),
    livezAnswers: all.counterBy(
      { name: 'kubeproxy_proxy_livez_total', help: '[ALPHA] Answers of /livez by status code' },
      ['code'],
    ),
    iptablesRules: iptables.gaugeBy(sync('iptables_total', 'iptables rules owned'), tableAndFamily),
    iptablesRulesWritten: iptables.gaugeBy(
      sync('iptables_last', 'iptables rules written in the last sync'),
      tableAndFamily,
    ),
    iptablesRestoreFailures: only('iptables', 'ipvs').counterBy(
      sync('iptables_restore_failures_total', 'Failed writes of iptables rules'),
      family,
    ),
    iptablesPartialRestoreFailures: iptables.counterBy(
      sync('iptables_partial_restore_failures_total', 'Failed partial syncs; a full one follows each'),
      family,
    ),
    nftablesSyncFailures: nftables.counterBy(
      sync('nftables_sync_failures_total', 'Failed nftables transactions'),
      family,
    ),
    nftablesCleanupFailures: nftables.counterBy(
      sync('nftables_cleanup_failures_total', 'Failed removals of stale nftables chains'),
      family,
    ),
    conntrackSyncDuration: all.histogramBy(
      {
        name: 'kubeproxy_conntrack_reconciler_sync_duration_seconds',
        help: '[ALPHA] Duration of the removal of stale flows, in seconds',
      },
      family,
      SYNC_BUCKETS,
    ),
    conntrackDeletedEntries: all.counterBy(
      { name: 'kubeproxy_conntrack_reconciler_deleted_entries_total', help: '[ALPHA] Stale flows deleted' },
      family,
    ),
  };
}

function sync(suffix: string, help: string): { name: string; help: string } {
  return { name: `kubeproxy_sync_proxy_rules_${suffix}`, help: `[ALPHA] ${help}` };
}

function nfacctCounter(
  registry: Registry,
  readNfacct: ReadNfacct,
  { name, help, object }: { readonly name: string; readonly help: string; readonly object: string },
): void {
  registry.collected({ name, help }, 'counter', async () => {
    const packets = await readNfacct(object);
    return packets === undefined ? [] : [{ labels: {}, value: packets }];
  });
}

function steps(from: number, to: number, by: number): number[] {
  return Array.from({ length: (to - from) / by + 1 }, (_, i) => from + i * by);
}
