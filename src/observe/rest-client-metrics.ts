// How the API client fares. In: one call per request. Out: the rest_client_* metrics every Kubernetes component has.
import type { Registry } from './metrics.ts';

export interface RequestOutcome {
  /** `GET` */
  readonly method: string;
  /** `10.96.0.1:443` */
  readonly host: string;
  /** The status, or `<error>` if no answer came. */
  readonly code: string;
  /** Until the head of the answer arrived. */
  readonly durationSeconds: number;
  readonly requestBytes: number;
  /** Undefined for a watch, whose answer has no end. */
  readonly responseBytes: number | undefined;
}

export interface RestClientMetrics {
  requested(outcome: RequestOutcome): void;
  /** The request was held back by our own rate limit before it was sent. */
  waited(request: { readonly method: string; readonly host: string; readonly seconds: number }): void;
  /** The request will be sent once more because of `code`. */
  retried(request: { readonly method: string; readonly host: string; readonly code: string }): void;
}

const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const SIZE_BUCKETS = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];

export function createRestClientMetrics(registry: Registry): RestClientMetrics {
  const verbAndHost = ['verb', 'host'] as const;
  const named = (suffix: string, help: string) => ({ name: `rest_client_${suffix}`, help: `[ALPHA] ${help}` });
  const requests = registry.counterBy(named('requests_total', 'Requests by status code, method and host'), [
    'code',
    'method',
    'host',
  ]);
  const duration = registry.histogramBy(
    named('request_duration_seconds', 'Time until the API server answered, in seconds'),
    verbAndHost,
    DURATION_BUCKETS,
  );
  const requestSize = registry.histogramBy(
    named('request_size_bytes', 'Size of what was sent, in bytes'),
    verbAndHost,
    SIZE_BUCKETS,
  );
  const responseSize = registry.histogramBy(
    named('response_size_bytes', 'Size of what was answered, in bytes'),
    verbAndHost,
    SIZE_BUCKETS,
  );
  const limiter = registry.histogramBy(
    named('rate_limiter_duration_seconds', 'Time spent waiting for the own rate limit, in seconds'),
    verbAndHost,
    DURATION_BUCKETS,
  );
  const retries = registry.counterBy(named('request_retries_total', 'Requests sent again, by the reason for it'), [
    'code',
    'verb',
    'host',
  ]);

  return {
    requested({ method, host, code, durationSeconds, requestBytes, responseBytes }) {
      const labels = { verb: method, host };
      requests.of({ code, method, host }).increment();
      duration.of(labels).observe(durationSeconds);
      requestSize.of(labels).observe(requestBytes);
      if (responseBytes !== undefined) responseSize.of(labels).observe(responseBytes);
    },
    waited: ({ method, host, seconds }) => limiter.of({ verb: method, host }).observe(seconds),
    retried: ({ method, host, code }) => retries.of({ code, verb: method, host }).increment(),
  };
}
