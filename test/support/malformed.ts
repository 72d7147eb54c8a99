// Objects as no API server would let them pass: right ones with wrong parts, and arbitrary ones.
import fc from 'fast-check';
import type { Manifest } from './golden.ts';

type Path = readonly (string | number)[];

/** A Service of which every field is read. */
export const WHOLE_SERVICE: Manifest = {
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'cart', uid: 'u', labels: { app: 'cart' } },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1', 'fd00:10:96::1'],
    ipFamilies: ['IPv4', 'IPv6'],
    ports: [
      { name: 'http', port: 80, protocol: 'TCP', nodePort: 30080 },
      { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30053 },
    ],
    externalIPs: ['198.51.100.1', '2001:db8::1'],
    loadBalancerSourceRanges: ['203.0.113.0/24', '2001:db8:1::/48'],
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 32555,
  },
  status: { loadBalancer: { ingress: [{ ip: '203.0.113.1', ipMode: 'VIP' }] } },
};

export const WHOLE_SLICE: Manifest = {
  kind: 'EndpointSlice',
  metadata: {
    namespace: 'shop',
    name: 'cart-1',
    resourceVersion: '1',
    labels: { 'kubernetes.io/service-name': 'cart' },
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
  },
  addressType: 'IPv4',
  ports: [
    { name: 'http', port: 8080, protocol: 'TCP' },
    { name: 'dns', port: 5353, protocol: 'UDP' },
  ],
  endpoints: [
    {
      addresses: ['10.244.1.11'],
      nodeName: 'n1',
      zone: 'za',
      conditions: { ready: true, serving: true, terminating: false },
      hints: { forZones: [{ name: 'za' }], forNodes: [{ name: 'n1' }] },
      targetRef: { kind: 'Pod', namespace: 'shop', name: 'cart-1' },
    },
  ],
};

/** Paths to everything in a value, itself left out. */
export function pathsOf(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]): Path[] => {
    const step = Array.isArray(value) ? Number(key) : key;
    return [[step], ...pathsOf(child).map((path) => [step, ...path])];
  });
}

export function replaced(value: unknown, [step, ...rest]: Path, by: unknown): unknown {
  if (step === undefined) return by;
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? replaced(item, rest, by) : item));
  const record = value as Readonly<Record<string, unknown>>;
  return { ...record, [step]: replaced(record[step], rest, by) };
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, step) => (at as Readonly<Record<string | number, unknown>>)[step], value);
}

/** As a Problem names it: `spec.ports[0].name`. */
export function fieldOf(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}

const INJECTIONS = [
  'cart" -j ACCEPT',
  'cart\n-A INPUT -j ACCEPT',
  '10.0.0.1 -j ACCEPT',
  '10.0.0.1\n-A INPUT -j ACCEPT',
  '10.0.0.1/24 -j ACCEPT',
  '$(reboot)',
  "'; --",
  '-j',
  '*nat\nCOMMIT',
  'http\u2028x',
  'caf\u00e9',
  '\u{1f6a2}',
  '\0',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(100_000),
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
  '127.0.0.1',
  '0.0.0.0',
];

const NUMBERS = [-1, 0, 1.5, 65536, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, -0];

/** By JSON.parse, so that `__proto__` is a key like any other. */
const TRAPS = ['{"__proto__":{"clusterIP":"10.0.0.1"}}', '{"constructor":1}', '{"length":-1}'].map(
  (text) => JSON.parse(text) as unknown,
);

const badValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...INJECTIONS),
  fc.constantFrom<unknown>(...NUMBERS),
  fc.constantFrom<unknown>(null, undefined, true, [], {}, [[]], [null], ...TRAPS),
  fc.constant(Array.from({ length: 5000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)),
  fc.jsonValue(),
  fc.anything(),
);

function spoilt(whole: Manifest): fc.Arbitrary<unknown> {
  const path = fc.constantFrom(...pathsOf(whole));
  return fc.array(fc.tuple(path, badValue), { minLength: 1, maxLength: 3 }).map((changes) =>
    changes.reduce<unknown>((value, [at, by]) => {
      try {
        return replaced(value, at, by);
      } catch {
        return value; // an earlier change took away what this one was for
      }
    }, whole),
  );
}

const named = (whole: Manifest, number: number): Manifest => ({
  ...whole,
  metadata: { ...whole.metadata, name: `${whole.metadata.name}-${number}` },
});

/** Services and slices that belong together, some of them spoilt. */
export const malformedStream: fc.Arbitrary<readonly { readonly kind: string; readonly raw: unknown }[]> = fc.array(
  fc.integer({ min: 0, max: 5 }).chain((number) =>
    fc.oneof(
      spoilt(named(WHOLE_SERVICE, number)).map((raw) => ({ kind: 'Service', raw })),
      spoilt(WHOLE_SERVICE).map((raw) => ({ kind: 'Service', raw })),
      spoilt(named(WHOLE_SLICE, number)).map((raw) => ({ kind: 'EndpointSlice', raw })),
      spoilt(WHOLE_SLICE).map((raw) => ({ kind: 'EndpointSlice', raw })),
      fc.anything().map((raw) => ({ kind: 'Service', raw })),
      fc.anything().map((raw) => ({ kind: 'EndpointSlice', raw })),
      fc.anything().map((raw) => ({ kind: 'Node', raw })),
      fc.anything().map((raw) => ({ kind: 'Endpoints', raw })),
      fc.anything().map((raw) => ({ kind: 'ServiceCIDR', raw })),
    ),
  ),
  { maxLength: 12 },
);
