// Clusters that come, change and go at random, from small pools, so that names and addresses meet again.
import fc from 'fast-check';
import type { Manifest } from './golden.ts';

/** What happens between two syncs. */
export interface RandomStep {
  readonly apply: readonly Manifest[];
  readonly delete: readonly Manifest[];
  /** The kernel's state is unknown, as after a failure: the sync reads it. */
  readonly forgets: boolean;
  /** Addresses of both families that take node ports; undefined: all. */
  readonly nodePortIps: readonly string[] | undefined;
}

export function randomSteps(maxSteps: number, minSteps = 2): fc.Arbitrary<readonly RandomStep[]> {
  return fc.array(step, { minLength: minSteps, maxLength: maxSteps });
}

const NAMES = ['shop/cart', 'shop/menu', 'web/edge', 'web/cart', 'dns/resolver'] as const;
const SLICES = ['s1', 's2', 's3'] as const;

const name = fc.constantFrom(...NAMES);
const ip = (prefix: string): fc.Arbitrary<string> => fc.integer({ min: 1, max: 12 }).map((last) => `${prefix}${last}`);
const some = <T>(values: readonly T[], maxLength = values.length): fc.Arbitrary<T[]> =>
  fc.subarray([...values], { minLength: 0, maxLength });
const EXTERNAL_IPS = ['198.51.100.1', '198.51.100.2', '2001:db8::1', '2001:db8::2'];
const INGRESS_IPS = ['203.0.113.1', '203.0.113.2', '2001:db8:1::1'];
const RANGES = ['192.168.50.0/24', '172.20.0.0/16', 'fd00:50::/64', '2001:db8:5::/48', '0.0.0.0/0', ' 10.9.0.0/16 '];

const port = fc.record(
  {
    name: fc.constantFrom('', 'http', 'dns', 'admin'),
    protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
    port: fc.constantFrom(53, 80, 443, 8080),
    nodePort: fc.constantFrom(0, 0, 30053, 30080, 30443),
  },
  { requiredKeys: ['name', 'port'] },
);

const families = fc
  .record({ v4: ip('10.96.0.'), v6: ip('fd00:10:96::'), kind: fc.constantFrom('v4', 'v6', 'both') })
  .map(({ v4, v6, kind }) => {
    if (kind === 'v4') return { clusterIP: v4, clusterIPs: [v4], ipFamilies: ['IPv4'] };
    if (kind === 'v6') return { clusterIP: v6, clusterIPs: [v6], ipFamilies: ['IPv6'] };
    return { clusterIP: v4, clusterIPs: [v4, v6], ipFamilies: ['IPv4', 'IPv6'] };
  });

const headless = fc.constantFrom({ clusterIP: 'None' }, { clusterIP: '10.96.0.1', type: 'ExternalName' });

const policy = fc.constantFrom('Cluster', 'Cluster', 'Local');

const exposed = fc.record({
  type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
  externalIPs: some(EXTERNAL_IPS, 2),
  loadBalancerSourceRanges: some(RANGES, 3),
  sessionAffinity: fc.constantFrom('None', 'None', 'ClientIP'),
  sessionAffinityConfig: fc.record({ clientIP: fc.record({ timeoutSeconds: fc.constantFrom(1, 600, 86400) }) }),
  externalTrafficPolicy: policy,
  internalTrafficPolicy: policy,
  healthCheckNodePort: fc.constantFrom(0, 32555),
});

const service: fc.Arbitrary<Manifest> = fc
  .record({
    name,
    cluster: fc.oneof({ weight: 9, arbitrary: families }, { weight: 1, arbitrary: headless }),
    exposed,
    ports: fc.array(port, { maxLength: 3 }),
    ingress: some(INGRESS_IPS, 2),
  })
  .map(({ name: full, cluster, exposed: rest, ports, ingress }) => ({
    kind: 'Service',
    metadata: metadataOf(full),
    spec: { ...rest, ports, ...cluster },
    status: { loadBalancer: { ingress: ingress.map((address) => ({ ip: address })) } },
  }));

const hints = fc.constantFrom(
  undefined,
  undefined,
  { forZones: [{ name: 'za' }] },
  { forZones: [{ name: 'zb' }] },
  { forZones: [{ name: 'za' }], forNodes: [{ name: 'n1' }] },
  { forNodes: [{ name: 'n2' }] },
);

const endpoint = (prefix: string): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc.record({
    addresses: ip(prefix).map((address) => [address]),
    nodeName: fc.constantFrom('n1', 'n2', undefined),
    conditions: fc.record(
      { ready: fc.boolean(), serving: fc.boolean(), terminating: fc.boolean() },
      { requiredKeys: [] },
    ),
    hints,
  });

const slice: fc.Arbitrary<Manifest> = fc
  .record({ name, slice: fc.constantFrom(...SLICES), owner: name, isIPv4: fc.boolean() })
  .chain(({ name: full, slice: number, owner, isIPv4 }) =>
    fc.record({
      kind: fc.constant('EndpointSlice'),
      // Mostly a service's own; now and then a slice changes hands within its namespace.
      metadata: fc.constant({
        namespace: metadataOf(full).namespace,
        name: `${metadataOf(full).name}-${number}`,
        labels: { 'kubernetes.io/service-name': metadataOf(number === 's3' ? owner : full).name },
      }),
      addressType: fc.constant(isIPv4 ? 'IPv4' : 'IPv6'),
      ports: fc.array(port, { minLength: 1, maxLength: 3 }),
      endpoints: fc.array(endpoint(isIPv4 ? '10.244.1.' : 'fd00:10:244:1::'), { maxLength: 6 }),
    }),
  );

const node: fc.Arbitrary<Manifest> = fc.constantFrom('za', 'zb', '').map((zone) => ({
  kind: 'Node',
  metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': zone } },
}));

const deleted: fc.Arbitrary<Manifest> = fc.oneof(
  name.map((full) => ({ kind: 'Service', metadata: metadataOf(full) })),
  fc.tuple(name, fc.constantFrom(...SLICES)).map(([full, number]) => ({
    kind: 'EndpointSlice',
    metadata: { ...metadataOf(full), name: `${metadataOf(full).name}-${number}` },
  })),
);

const step: fc.Arbitrary<RandomStep> = fc.record({
  apply: fc.array(
    fc.oneof({ weight: 5, arbitrary: service }, { weight: 8, arbitrary: slice }, { weight: 1, arbitrary: node }),
    { maxLength: 5 },
  ),
  delete: fc.array(deleted, { maxLength: 2 }),
  forgets: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
  nodePortIps: fc.constantFrom(undefined, undefined, ['192.168.50.1', 'fd00:50::1'], ['192.168.50.1', '10.60.0.1']),
});

function metadataOf(full: string): { readonly namespace: string; readonly name: string } {
  const [namespace, own] = full.split('/') as [string, string];
  return { namespace, name: own };
}
