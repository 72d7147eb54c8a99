// What Portolan tells beyond upstream's metrics, under its own prefix. In: functions that answer at scrape time; a metric
// whose source is not given does not exist. Out: a counter for failures, which only the sync loop can count.
import type { Family } from '../lib/ip.ts';
import type { By, Counter, Gauge, Registry } from './metrics.ts';

export interface PortolanSources {
  /** Seconds since the API server was last heard from, by watched resource (`services`). */
  readonly apiFreshnessSeconds?: () => ReadonlyMap<string, number>;
  /** Objects, or fields of objects, that were left out because they make no sense. */
  readonly problems?: () => number;
  /** How often the kernel was found to hold something else than was written. */
  readonly driftFound?: () => ReadonlyMap<Family, number>;
}

export interface PortolanMetrics {
  /** Cases of the last self-check. */
  readonly checkedCases: By<'ip_family', Gauge>;
  /** Those in which the kernel does not do what the objects mean, of every Service when it was last checked. */
  readonly mismatches: By<'ip_family', Gauge>;
  /** `code` is that of the KernelError, or `UNKNOWN`. */
  readonly syncFailures: By<'ip_family' | 'code', Counter>;
}

export function createPortolanMetrics(registry: Registry, sources: PortolanSources): PortolanMetrics {
  const { apiFreshnessSeconds, problems, driftFound } = sources;
  if (apiFreshnessSeconds) {
    registry.collected(
      {
        name: 'portolan_api_freshness_seconds',
        help: '[ALPHA] Seconds since the API server was last heard from, by watched resource',
      },
      'gauge',
      () => [...apiFreshnessSeconds()].map(([resource, value]) => ({ labels: { resource }, value })),
    );
  }
  if (problems) {
    registry.collected(
      { name: 'portolan_problems', help: '[ALPHA] Parts of the cluster left out because they make no sense' },
      'gauge',
      () => [{ labels: {}, value: problems() }],
    );
  }
  if (driftFound) {
    registry.collected(
      { name: 'portolan_drift_total', help: '[ALPHA] Times the kernel held something else than was written' },
      'counter',
      () => [...driftFound()].map(([family, value]) => ({ labels: { ip_family: family }, value })),
    );
  }
  return {
    checkedCases: registry.gaugeBy(
      { name: 'portolan_self_check_cases', help: '[ALPHA] Cases of the last self-check of the rules' },
      ['ip_family'],
    ),
    mismatches: registry.gaugeBy(
      {
        name: 'portolan_self_check_mismatches',
        help: '[ALPHA] Cases in which the kernel does not do what objects mean',
      },
      ['ip_family'],
    ),
    syncFailures: registry.counterBy(
      { name: 'portolan_sync_failures_total', help: '[ALPHA] Failed syncs by the kind of failure' },
      ['ip_family', 'code'],
    ),
  };
}
