import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serviceManifest, sliceManifest } from '../../test/support/manifests.ts';
import type { Endpoint, EndpointSlice, Service } from './objects.ts';
import { type Parsed, parseEndpointSlice, parseEndpoints, parseNode, parseService, parseServiceCIDR } from './parse.ts';

type Json = Readonly<Record<string, unknown>>;

describe('a Service', () => {
  test('is read with everything it has', () => {
    const { value, problems } = parseService({
      metadata: { namespace: 'shop', name: 'cart', uid: 'u-1' },
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.99.0.21',
        clusterIPs: ['10.99.0.21', 'FD99::0:21'],
        ipFamilies: ['IPv4', 'IPv6'],
        ports: [
          { name: 'http', port: 80, nodePort: 30080, targetPort: 'web' },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
        externalIPs: ['198.51.100.09', '2001:DB8::1'],
        loadBalancerSourceRanges: [' 203.0.113.9/25 ', '2001:db8::/32'],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
        externalTrafficPolicy: 'Local',
        internalTrafficPolicy: 'Local',
        healthCheckNodePort: 32555,
      },
      status: {
        loadBalancer: { ingress: [{ ip: '203.0.113.80' }, { ip: '203.0.113.81', ipMode: 'Proxy' }, { hostname: 'x' }] },
      },
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(value, {
      namespace: 'shop',
      name: 'cart',
      uid: 'u-1',
      type: 'LoadBalancer',
      clusterIPs: { IPv4: '10.99.0.21', IPv6: 'fd99::21' },
      ports: [
        { name: 'http', protocol: 'TCP', port: 80, nodePort: 30080 },
        { name: 'dns', protocol: 'UDP', port: 53, nodePort: 0 },
      ],
      externalIPs: { IPv4: ['198.51.100.9'], IPv6: ['2001:db8::1'] },
      loadBalancerIPs: { IPv4: ['203.0.113.80'], IPv6: [] },
      loadBalancerSourceRanges: { IPv4: ['203.0.113.0/25'], IPv6: ['2001:db8::/32'] },
      affinityTimeoutSeconds: 600,
      externalTrafficPolicyLocal: true,
      internalTrafficPolicyLocal: true,
      healthCheckNodePort: 32555,
    } satisfies Service);
  });

  test('without a cluster IP of its own asks nothing of a proxy', () => {
    for (const spec of [{ clusterIP: 'None' }, { type: 'ExternalName' }]) {
      assert.deepEqual(parseService(serviceManifest('shop/cart', spec)), { value: undefined, problems: [] });
    }
    assert.deepEqual(
      service({ clusterIP: '' }).problems.map(({ field }) => field),
      ['spec.clusterIP'],
    );
  });

  test('of another proxy is left to it, whatever the label says', () => {
    const manifest = serviceManifest('shop/cart');
    for (const value of ['', 'other', null]) {
      const labels = { 'service.kubernetes.io/service-proxy-name': value };
      assert.equal(parseService({ ...manifest, metadata: { ...manifest.metadata, labels } }).value, undefined);
    }
  });

  test('takes its cluster IPs by ipFamilies, else by clusterIP alone', () => {
    const ips = (spec: Json): Json => ({ ...service(spec).value!.clusterIPs });
    assert.deepEqual(ips({ clusterIP: 'fd99::1' }), { IPv6: 'fd99::1' });
    assert.deepEqual(ips({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd99::1'] }), { IPv4: '10.0.0.1' });
    assert.deepEqual(ips({ clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4', 'IPv6'] }), { IPv4: '10.0.0.1' });
    assert.deepEqual(ips({ clusterIPs: ['10.0.0.1', '10.0.0.2'], ipFamilies: ['IPv4', 'IPv4'] }), { IPv4: '10.0.0.1' });
    assert.deepEqual(ips({ clusterIPs: ['fd99::1', '10.0.0.1'], ipFamilies: ['IPv6', 'IPv4'] }), {
      IPv4: '10.0.0.1',
      IPv6: 'fd99::1',
    });
  });

  test('is unrestricted where a source range holds every address, or none is of the family', () => {
    const ranges = (...loadBalancerSourceRanges: readonly string[]): Service['loadBalancerSourceRanges'] =>
      service({ loadBalancerSourceRanges }).value!.loadBalancerSourceRanges;
    assert.deepEqual(ranges('10.0.0.0/8', '1.2.3.4/0', 'fd00::/8'), { IPv4: [], IPv6: ['fd00::/8'] });
    assert.deepEqual(ranges('fd00::/8').IPv4, []);
    assert.deepEqual(ranges('10.0.0.0/10', '10.0.0.0/20').IPv4, ['10.0.0.0/10', '10.0.0.0/20']);
  });

  test('has affinity for three hours where nothing is said, and none unless asked', () => {
    assert.equal(service({ sessionAffinity: 'ClientIP' }).value!.affinityTimeoutSeconds, 10800);
    assert.equal(
      service({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }).value!.affinityTimeoutSeconds,
      0,
    );
  });

  test('has an external policy only where something external leads to it', () => {
    const isLocal = (spec: Json): boolean =>
      service({ externalTrafficPolicy: 'Local', ...spec }).value!.externalTrafficPolicyLocal;
    assert.equal(isLocal({}), false);
    assert.equal(isLocal({ externalIPs: ['2001:db8::1'] }), true, 'of any family');
    assert.equal(isLocal({ type: 'NodePort' }), true);
    assert.equal(isLocal({ type: 'LoadBalancer', healthCheckNodePort: 1 }), true);
  });

  test('has a health-check port only as LoadBalancer with policy Local', () => {
    const port = (spec: Json): number => service({ healthCheckNodePort: 32555, ...spec }).value!.healthCheckNodePort;
    assert.equal(port({ type: 'LoadBalancer' }), 0);
    assert.equal(port({ type: 'NodePort', externalTrafficPolicy: 'Local' }), 0);
    assert.equal(port({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }), 32555);
  });

  const oddities: readonly (readonly [field: string, spec: Json])[] = [
    ['spec.type', { type: 'Clusterip' }],
    ['spec.clusterIP', { clusterIP: '10.0.0' }],
    ['spec.clusterIP', { clusterIP: 7 }],
    ['spec.clusterIPs[1]', { clusterIPs: ['10.0.0.1', 'x'], ipFamilies: ['IPv4', 'IPv6'] }],
    ['spec.clusterIPs[0]', { clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv6'] }],
    ['spec.clusterIPs', { clusterIPs: 'x', ipFamilies: ['IPv4'] }],
    ['spec.ipFamilies[0]', { ipFamilies: [4] }],
    ['spec.ports', { ports: {} }],
    ['spec.ports[0]', { ports: ['80'] }],
    ['spec.ports[0].port', { ports: [{}] }],
    ['spec.ports[0].port', { ports: [{ port: '80' }] }],
    ['spec.ports[0].port', { ports: [{ port: 65536 }] }],
    ['spec.ports[0].port', { ports: [{ port: 80.5 }] }],
    ['spec.ports[0].nodePort', { ports: [{ port: 80, nodePort: -1 }] }],
    ['spec.ports[0].protocol', { ports: [{ port: 80, protocol: 'tcp' }] }],
    ['spec.ports[0].name', { ports: [{ port: 80, name: 'a b' }] }],
    ['spec.ports[1].name', { ports: [{ port: 80 }, { port: 81 }] }],
    [
      'spec.ports[1].port',
      {
        ports: [
          { port: 80, name: 'a' },
          { port: 80, name: 'b' },
        ],
      },
    ],
    ['spec.externalIPs', { externalIPs: '198.51.100.1' }],
    ['spec.externalIPs[0]', { externalIPs: ['198.51.100'] }],
    ['spec.externalIPs[1]', { externalIPs: ['', null] }],
    ['spec.loadBalancerSourceRanges[0]', { loadBalancerSourceRanges: ['10.0.0.1'] }],
    ['spec.sessionAffinity', { sessionAffinity: 'Client' }],
    ['spec.sessionAffinityConfig', { sessionAffinity: 'ClientIP', sessionAffinityConfig: 5 }],
    [
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } },
    ],
    ['spec.externalTrafficPolicy', { externalTrafficPolicy: 'local' }],
    ['spec.internalTrafficPolicy', { internalTrafficPolicy: true }],
    ['spec.healthCheckNodePort', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }],
  ];
  for (const [field, spec] of oddities) {
    test(`says what is odd about ${field} in ${JSON.stringify(spec)}`, () =>
      assertSays(service(spec), 'Service shop/cart', field));
  }

  test('says what is odd about its status', () => {
    const ingress = [{ ip: '203.0.113' }, { ip: '203.0.113.1', ipMode: 'vip' }];
    const parsed = parseService(serviceManifest('shop/cart', {}, { loadBalancer: { ingress } }));
    assertSays(parsed, 'Service shop/cart', 'status.loadBalancer.ingress[0].ip');
    assertSays(parsed, 'Service shop/cart', 'status.loadBalancer.ingress[1].ipMode');
  });

  test('with a name that is none is left out, and named as far as it can be printed', () => {
    for (const [name, shown] of [
      ['', '(unnamed)'],
      ['cart" -j ACCEPT\n', 'cart"?-j?ACCEPT?'],
      ['Cart', 'Cart'],
      ['ünï', '?n?'],
      ['x'.repeat(64), 'x'.repeat(64)],
    ] as const) {
      const parsed = parseService({ metadata: { namespace: 'shop', name }, spec: { clusterIP: '10.0.0.1' } });
      assert.equal(parsed.value, undefined);
      assertSays(parsed, `Service shop/${shown}`, 'metadata.name');
    }
    const parsed = parseService({ metadata: { namespace: 'a/b', name: 'cart' }, spec: { clusterIP: '10.0.0.1' } });
    assertSays(parsed, 'Service a/b/cart', 'metadata.namespace');
  });

  test('that is no object is a problem too', () => {
    for (const raw of [undefined, null, 5, 'x', [], { metadata: 3 }]) {
      assert.equal(parseService(raw).value, undefined);
      assert.ok(parseService(raw).problems.length > 0, JSON.stringify(raw));
    }
  });
});

describe('an EndpointSlice', () => {
  test('is read with everything it has', () => {
    const { value, problems } = parseEndpointSlice({
      metadata: {
        namespace: 'shop',
        name: 'cart-abc.1',
        resourceVersion: '7',
        labels: { 'kubernetes.io/service-name': 'cart' },
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T12:00:00.25+01:00' },
      },
      addressType: 'IPv6',
      ports: [
        { name: 'http', port: 8080 },
        { port: 53, protocol: 'UDP' },
      ],
      endpoints: [
        {
          addresses: ['FD66::1', 'fd66::2'],
          nodeName: 'worker-7',
          zone: 'a',
          conditions: { ready: false, serving: true, terminating: true },
          hints: { forZones: [{ name: 'a' }, { name: 'b' }], forNodes: [{ name: 'worker-7' }] },
          targetRef: { kind: 'Pod', namespace: 'shop', name: 'cart-1' },
        },
      ],
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(value, {
      namespace: 'shop',
      name: 'cart-abc.1',
      service: 'cart',
      family: 'IPv6',
      ports: [
        { name: 'http', protocol: 'TCP', port: 8080 },
        { name: '', protocol: 'UDP', port: 53 },
      ],
      endpoints: [
        {
          ip: 'fd66::1',
          nodeName: 'worker-7',
          zone: 'a',
          ready: false,
          serving: true,
          terminating: true,
          zoneHints: ['a', 'b'],
          nodeHints: ['worker-7'],
          target: 'Pod shop/cart-1',
        },
      ],
      lastChangeTriggerTime: Date.parse('2026-01-01T11:00:00.250Z'),
      resourceVersion: '7',
    } satisfies EndpointSlice);
  });

  test('takes conditions that are not set as ready, serving, not terminating', () => {
    for (const conditions of [undefined, {}, { ready: null, serving: null, terminating: null }]) {
      const { ready, serving, terminating } = endpointOf({ addresses: ['10.0.0.1'], conditions });
      assert.deepEqual({ ready, serving, terminating }, { ready: true, serving: true, terminating: false });
    }
    assert.equal(
      endpointOf({ addresses: ['10.0.0.1'], conditions: { ready: false } }).serving,
      true,
      'not derived from ready',
    );
  });

  test('of a headless Service asks nothing of a proxy', () => {
    const labels = { 'service.kubernetes.io/headless': '', 'kubernetes.io/service-name': 'cart' };
    assert.deepEqual(parseEndpointSlice({ metadata: { namespace: 'shop', name: 'c', labels } }), {
      value: undefined,
      problems: [],
    });
  });

  test('reads an endpoint whose text begins with zeros as decimal', () =>
    assert.equal(endpointOf({ addresses: ['10.0.010.1'] }).ip, '10.0.10.1'));

  const oddities: readonly (readonly [field: string, fields: Json])[] = [
    ['metadata.labels[kubernetes.io/service-name]', { metadata: { namespace: 'shop', name: 'cart-1' } }],
    ['addressType', { addressType: 'FQDN' }],
    ['addressType', { addressType: undefined }],
    ['ports', { ports: 'http' }],
    ['ports[0].port', { ports: [{ name: 'http' }] }],
    ['ports[0].port', { ports: [{ name: 'http', port: 0 }] }],
    ['ports[0].name', { ports: [{ name: 'h"', port: 80 }] }],
    ['ports[0].protocol', { ports: [{ port: 80, protocol: 'ICMP' }] }],
    ['endpoints', { endpoints: 5 }],
    ['endpoints[0].addresses', { endpoints: [{}] }],
    ['endpoints[0].addresses', { endpoints: [{ addresses: [] }] }],
    ['endpoints[0].addresses', { endpoints: [{ addresses: ['fd66::1'] }] }],
    ['endpoints[0].addresses', { endpoints: [{ addresses: ['10.0.0.1 -j ACCEPT'] }] }],
    ['endpoints[0].addresses[0]', { endpoints: [{ addresses: [1] }] }],
    ['endpoints[0].conditions.ready', { endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: 'true' } }] }],
    ['endpoints[0].hints.forZones', { endpoints: [{ addresses: ['10.0.0.1'], hints: { forZones: 'a' } }] }],
    [
      'endpoints[0].hints.forNodes[0].name',
      { endpoints: [{ addresses: ['10.0.0.1'], hints: { forNodes: [{ name: 1 }] } }] },
    ],
    ['endpoints[0].nodeName', { endpoints: [{ addresses: ['10.0.0.1'], nodeName: ['n'] }] }],
  ];
  for (const [field, fields] of oddities) {
    test(`says what is odd about ${field} in ${JSON.stringify(fields)}`, () =>
      assertSays(
        parseEndpointSlice({ ...sliceManifest('shop/cart', []), ...fields }),
        'EndpointSlice shop/cart-1',
        field,
      ));
  }

  test('with a name that is none is left out', () => {
    const labels = { 'kubernetes.io/service-name': 'cart' };
    const parsed = parseEndpointSlice({ metadata: { namespace: 'shop', name: 'Cart_1', labels } });
    assert.equal(parsed.value, undefined);
    assertSays(parsed, 'EndpointSlice shop/Cart_1', 'metadata.name');
  });

  test('says when a trigger time is none, and does without', () => {
    for (const text of ['yesterday', '5', '2026-01-01', '2026-13-01T00:00:00Z']) {
      const manifest = sliceManifest('shop/cart', []);
      const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': text };
      const parsed = parseEndpointSlice({ ...manifest, metadata: { ...manifest.metadata, annotations } });
      assert.equal(parsed.value?.lastChangeTriggerTime, undefined);
      assertSays(
        parsed,
        'EndpointSlice shop/cart-1',
        'metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]',
      );
    }
  });

  test('serves the endpoints that are right beside those that are not', () => {
    const endpoints = [{ addresses: ['x'] }, { addresses: ['10.0.0.1'] }, 7];
    assert.deepEqual(
      parseEndpointSlice(sliceManifest('shop/cart', endpoints as Json[])).value?.endpoints.map(({ ip }) => ip),
      ['10.0.0.1'],
    );
  });
});

describe('Endpoints of old', () => {
  test('become a slice for each subset and family', () => {
    const { value, problems } = parseEndpoints({
      metadata: { namespace: 'shop', name: 'cart' },
      subsets: [
        {
          addresses: [{ ip: '10.0.0.1', nodeName: 'worker-7' }, { ip: 'fd66::1' }],
          notReadyAddresses: [{ ip: '10.0.0.2' }],
          ports: [{ name: 'http', port: 8080 }],
        },
        { addresses: [{ ip: '10.0.0.3' }], ports: [{ port: 81, protocol: 'UDP' }] },
      ],
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(
      value?.map(
        ({ name, family, endpoints }) =>
          `${name} ${family} ${endpoints.map(({ ip, ready }) => `${ip} ${ready}`).join(', ')}`,
      ),
      [
        'cart-0-ipv4 IPv4 10.0.0.1 true, 10.0.0.2 false',
        'cart-0-ipv6 IPv6 fd66::1 true',
        'cart-1-ipv4 IPv4 10.0.0.3 true',
      ],
    );
  });

  test('with a name that is none are left out', () =>
    assertSays(parseEndpoints({ metadata: { name: 'a b' } }), 'Endpoints default/a?b', 'metadata.name'));
});

describe('a Node', () => {
  test('is read with everything it has', () => {
    const { value, problems } = parseNode({
      metadata: {
        name: 'worker-7',
        uid: 'u',
        labels: { 'topology.kubernetes.io/zone': 'a' },
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
      spec: { podCIDRs: ['10.66.1.0/24', 'FD66:1::/64'], taints: [{ key: 'ToBeDeletedByClusterAutoscaler' }] },
      status: {
        addresses: [
          { type: 'ExternalIP', address: '192.0.2.7' },
          { type: 'InternalIP', address: '172.20.5.7' },
          { type: 'Hostname', address: 'w' },
        ],
      },
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(value, {
      name: 'worker-7',
      uid: 'u',
      ips: ['172.20.5.7', '192.0.2.7'],
      podCIDRs: ['10.66.1.0/24', 'fd66:1::/64'],
      zone: 'a',
      isBeingDeleted: true,
      taintKeys: ['ToBeDeletedByClusterAutoscaler'],
    });
  });

  test('falls back to its one pod network, and to no zone', () => {
    const { value } = parseNode({ metadata: { name: 'n' }, spec: { podCIDR: '10.1.0.0/24' } });
    assert.deepEqual([value?.podCIDRs, value?.zone, value?.isBeingDeleted], [['10.1.0.0/24'], '', false]);
  });

  test('says once what is odd', () => {
    const { problems } = parseNode({
      metadata: { name: 'n' },
      spec: { podCIDRs: ['x'] },
      status: { addresses: [{ type: 5 }, { type: 'InternalIP', address: 'x' }] },
    });
    assert.deepEqual(problems.map(({ field }) => field).sort(), [
      'spec.podCIDRs[0]',
      'status.addresses[0].type',
      'status.addresses[1].address',
    ]);
  });
});

test('a ServiceCIDR keeps the networks that are some', () => {
  const parsed = parseServiceCIDR({ metadata: { name: 'k' }, spec: { cidrs: ['10.96.0.1/12', 'x', 'fd00::/112'] } });
  assert.deepEqual(parsed.value, { name: 'k', cidrs: ['10.96.0.0/12', 'fd00::/112'] });
  assertSays(parsed, 'ServiceCIDR k', 'spec.cidrs[1]');
});

function service(spec: Json): Parsed<Service> {
  return parseService(serviceManifest('shop/cart', spec));
}

function endpointOf(endpoint: Json): Endpoint {
  return parseEndpointSlice(sliceManifest('shop/cart', [endpoint])).value!.endpoints[0]!;
}

function assertSays({ problems }: Parsed<unknown>, object: string, field: string): void {
  assert.ok(
    problems.some((problem) => problem.object === object && problem.field === field && problem.reason !== ''),
    `no problem of ${object} with ${field} in ${JSON.stringify(problems)}`,
  );
}
