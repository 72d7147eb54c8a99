// Service level indicators: how often the process was asked for its health, and what it said. They have a page of their own,
// so that they can be scraped more often than the rest.
import { type By, type Counter, type Gauge, Registry } from './metrics.ts';
import { addProcessStartTime } from './process-metrics.ts';

export interface HealthCheckIndicators {
  readonly registry: Registry;
  /** A check was asked and passed. */
  passed(check: string): void;
  reset(): void;
}

export function createIndicators(): HealthCheckIndicators {
  const registry = new Registry();
  const last: By<'name' | 'type', Gauge> = registry.gaugeBy(
    { name: 'kubernetes_healthcheck', help: '[STABLE] 1 if the health check last passed, 0 if it failed' },
    ['name', 'type'],
  );
  const total: By<'name' | 'type' | 'status', Counter> = registry.counterBy(
    { name: 'kubernetes_healthchecks_total', help: '[STABLE] Health checks made, by their result' },
    ['name', 'type', 'status'],
  );
  addProcessStartTime(registry);
  return {
    registry,
    passed(check) {
      last.of({ name: check, type: 'healthz' }).set(1);
      total.of({ name: check, type: 'healthz', status: 'success' }).increment();
    },
    reset() {
      last.clear();
      total.clear();
    },
  };
}
