// Objects as the server keeps them: what it adds, what it refuses and in which words, which addresses it gives.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import type { ApiServer } from '../../src/lab/apiserver/server.ts';
import type { Service, ServiceSpec } from '../../src/lab/apiserver/types.ts';
import { request, serviceObject, withServer } from './apiserver-support.ts';

const SERVICES = '/api/v1/namespaces/default/services';

test('a Service gets what its author left out', () =>
  withServer({}, async (server) => {
    assert.deepEqual(stored(server, serviceObject('a')).spec, {
      clusterIP: '10.96.1.0',
      clusterIPs: ['10.96.1.0'],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      selector: { app: 'a' },
      sessionAffinity: 'None',
      type: 'ClusterIP',
    });
    const balancer = stored(server, serviceWith('b', { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }));
    assert.equal(balancer.spec.allocateLoadBalancerNodePorts, true);
    assert.equal(balancer.spec.ports![0]!.nodePort, 30086);
    assert.equal(balancer.spec.healthCheckNodePort, 30087);
    const sticky = stored(server, serviceWith('c', { sessionAffinity: 'ClientIP' }));
    assert.equal(sticky.spec.sessionAffinityConfig!.clientIP!.timeoutSeconds, 10800);
    const plain = stored(server, serviceWith('d', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }));
    assert.equal(plain.spec.ports![0]!.nodePort, undefined);
  }));

test('families follow the policy and the addresses asked for', () =>
  withServer({}, async (server) => {
    const both = stored(server, serviceWith('a', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] }));
    assert.deepEqual(both.spec.ipFamilies, ['IPv6', 'IPv4']);
    assert.match(both.spec.clusterIP!, /^fd00:10:96::/);
    const v6 = stored(server, serviceWith('b', { clusterIP: 'fd00:10:96::77' }));
    assert.deepEqual(v6.spec.ipFamilies, ['IPv6']);
    const upgraded = stored(server, serviceWith('b', { ipFamilyPolicy: 'RequireDualStack' }));
    assert.equal(upgraded.spec.clusterIPs![0], 'fd00:10:96::77');
    assert.match(upgraded.spec.clusterIPs![1]!, /^10\.96\./);
    const back = stored(server, serviceWith('b', { ipFamilyPolicy: 'SingleStack' }));
    assert.deepEqual(back.spec.clusterIPs, ['fd00:10:96::77']);
  }));

test('a single-stack cluster refuses the other family', () =>
  withServer({ serviceCIDRs: ['10.49.0.0/16'] }, async (server) => {
    const preferred = stored(server, serviceWith('a', { ipFamilyPolicy: 'PreferDualStack' }));
    assert.deepEqual(preferred.spec.ipFamilies, ['IPv4']);
    const answer = await request(server, 'POST', SERVICES, serviceWith('b', { ipFamilyPolicy: 'RequireDualStack' }));
    assert.equal(answer.status, 422);
    assert.match(answer.body.message, /spec\.ipFamilyPolicy: Invalid value: .*not configured for dual-stack/);
  }));

test('a Service that changes its type gives back what it no longer has', () =>
  withServer({}, async (server) => {
    const first = stored(server, serviceWith('a', { type: 'NodePort' }));
    const port = first.spec.ports![0]!.nodePort!;
    const whole = { ...first, spec: { ...first.spec, type: 'ClusterIP' } };
    const second = (await request(server, 'PUT', `${SERVICES}/a`, whole)).body as unknown as Service;
    assert.equal(second.spec.ports![0]!.nodePort, undefined);
    assert.equal(second.spec.externalTrafficPolicy, undefined);
    assert.equal(second.spec.clusterIP, first.spec.clusterIP);
    const reused = serviceWith('b', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] });
    assert.equal((await request(server, 'POST', SERVICES, reused)).status, 201);
    const named = stored(server, serviceWith('a', { type: 'ExternalName', externalName: 'example.com' }));
    assert.equal(named.spec.clusterIP, undefined);
  }));

test('a dry run takes nothing', () =>
  withServer({}, async (server) => {
    const wanted = serviceWith('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] });
    assert.equal((await request(server, 'POST', `${SERVICES}?dryRun=All`, wanted)).status, 201);
    assert.equal(server.get('services', 'default', 'a'), undefined);
    assert.equal((await request(server, 'POST', SERVICES, { ...wanted, metadata: { name: 'b' } })).status, 201);
  }));

test('cluster IPs also come from networks that are added later', () =>
  withServer({ serviceCIDRs: ['10.49.0.0/29'] }, async (server) => {
    for (let i = 0; i < 6; i++) server.apply(serviceObject(`s${i}`));
    const full = await request(server, 'POST', SERVICES, serviceObject('one-more'));
    assert.match(full.body.message, /failed to allocate IP/);
    const metadata = { name: 'more' };
    server.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata,
      spec: { cidrs: ['10.50.0.0/24'] },
    });
    assert.match(stored(server, serviceObject('one-more')).spec.clusterIP!, /^10\.50\.0\./);
  }));

const REFUSALS: readonly (readonly [string, Partial<ServiceSpec>, string])[] = [
  [
    'a port out of range',
    { ports: [{ port: 70000, targetPort: 80 }] },
    'spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
  ],
  ['no ports', { ports: [] }, 'spec.ports: Required value'],
  [
    'two ports without names',
    { ports: [{ port: 1 }, { port: 2 }] },
    '[spec.ports[0].name: Required value, spec.ports[1].name: Required value]',
  ],
  [
    'an unknown protocol',
    { ports: [{ port: 1, protocol: 'ICMP' }] },
    'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    'a node port on a cluster IP',
    { ports: [{ port: 1, nodePort: 30001 }] },
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ],
  [
    'an unknown type',
    { type: 'Magic' },
    'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
  ],
  [
    'a cluster IP that is none',
    { clusterIP: '10.0.0' },
    'spec.clusterIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    'a headless node port',
    { clusterIP: 'None', type: 'NodePort' },
    'spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services',
  ],
  [
    'an external policy without outside',
    { externalTrafficPolicy: 'Local' },
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ],
  [
    'a loopback external IP',
    { externalIPs: ['127.0.0.1'] },
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    'source ranges without a balancer',
    { loadBalancerSourceRanges: ['10.0.0.0/8'] },
    "spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    'a source range that is none',
    { type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/33'] },
    'spec.loadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
  ],
  [
    'an affinity that lasts too long',
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 90000 } } },
    'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400',
  ],
  [
    'an unknown distribution',
    { trafficDistribution: 'Far' },
    'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose", "PreferSameNode", "PreferSameZone"',
  ],
];

for (const [title, spec, message] of REFUSALS) {
  test(`a Service with ${title} is refused in Kubernetes' words`, () =>
    withServer({}, async (server) => {
      const answer = await request(server, 'POST', SERVICES, serviceWith('x', spec));
      assert.equal(answer.status, 422);
      assert.equal(answer.body.message, `Service "x" is invalid: ${message}`);
    }));
}

test('other kinds are checked too', () =>
  withServer({}, async (server) => {
    const refused = async (path: string, object: unknown) => (await request(server, 'POST', path, object)).body.message;
    assert.match(
      await refused(SERVICES, serviceObject('1x')),
      /metadata\.name: Invalid value: "1x": a DNS-1035 label must consist of/,
    );
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'x' },
      addressType: 'IPv4',
    };
    assert.match(
      await refused('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
        ...slice,
        endpoints: [{ addresses: ['::1'] }],
      }),
      /EndpointSlice\.discovery\.k8s\.io "x" is invalid: endpoints\[0\]\.addresses\[0\]: Invalid value: "::1": must be a valid IPv4 address/,
    );
    const spec = {
      selector: { matchLabels: { app: 'a' } },
      template: { metadata: { labels: { app: 'b' } }, spec: { containers: [] } },
    };
    assert.match(
      await refused('/apis/apps/v1/namespaces/default/deployments', {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'x' },
        spec,
      }),
      /spec\.template\.metadata\.labels: Invalid value: \{"app":"b"\}: `selector` does not match template `labels`, spec\.template\.spec\.containers: Required value/,
    );
    assert.match(
      await refused('/api/v1/namespaces/nowhere/services', serviceIn('nowhere')),
      /namespaces "nowhere" not found/,
    );
  }));

test('an event of the newer API is the same event in the older one', () =>
  withServer({}, async (server) => {
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'kube-proxy',
      reportingInstance: 'kube-proxy-n1',
      action: 'Listen',
      reason: 'Starting',
      regarding: { kind: 'Node', name: 'n1' },
      note: 'hello',
      type: 'Normal',
    };
    const path = '/apis/events.k8s.io/v1/namespaces/default/events';
    assert.equal((await request(server, 'POST', path, event)).status, 201);
    const older = await request(server, 'GET', '/api/v1/events?fieldSelector=involvedObject.name%3Dn1');
    assert.equal(older.body.items[0]!.message, 'hello');
    assert.equal(older.body.items[0]!.reportingComponent, 'kube-proxy');
    const newer = await request(server, 'GET', `${path}?fieldSelector=regarding.name%3Dn1`);
    assert.equal(newer.body.items[0]!.note, 'hello');
    const count = { series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' } };
    const patched = await request(server, 'PATCH', `${path}/e`, count, {
      'Content-Type': 'application/merge-patch+json',
    });
    assert.equal(patched.status, 200);
  }));

test('status is written only through its subresource', () =>
  withServer({}, async (server) => {
    const held = stored(server, serviceObject('a'));
    const status = { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } };
    const ignored = await request(server, 'PUT', `${SERVICES}/a`, { ...held, status });
    assert.deepEqual((ignored.body as unknown as Service).status, { loadBalancer: {} });
    const written = await request(server, 'PUT', `${SERVICES}/a/status`, { ...held, status });
    assert.deepEqual((written.body as unknown as Service).status, {
      loadBalancer: { ingress: [{ ip: '203.0.113.5', ipMode: 'VIP' }] },
    });
  }));

test('a field selector that a kind does not have is refused', () =>
  withServer({}, async (server) => {
    const answer = await request(server, 'GET', '/api/v1/services?fieldSelector=spec.magic%3D1');
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /field label not supported: spec\.magic/);
  }));

function stored(server: ApiServer, object: KubeObject): Service {
  return server.apply(object) as Service;
}

function serviceWith(name: string, spec: Partial<ServiceSpec>): KubeObject {
  const object = serviceObject(name) as Service;
  return { ...object, spec: { ...object.spec, ...spec } };
}

function serviceIn(namespace: string): KubeObject {
  const object = serviceObject('x');
  return { ...object, metadata: { ...object.metadata, namespace } };
}
