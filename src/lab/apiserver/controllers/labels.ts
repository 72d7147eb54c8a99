// Labels and annotations of endpoints that proxies and tools read.

/** Whose endpoints a slice holds. */
export const SERVICE_NAME = 'kubernetes.io/service-name';
/** Which controller a slice belongs to; others leave it alone. */
export const SLICE_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
/** On endpoints of Services without a cluster IP, which proxies do not want to see. */
export const HEADLESS = 'service.kubernetes.io/headless';
/** When the change happened that an object tells of; proxies measure their latency from here. */
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';
