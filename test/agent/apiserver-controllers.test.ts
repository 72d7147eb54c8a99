// The controllers that make a cluster of the API server, with pods that only pretend to run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../../src/lab/apiserver/server.ts';
import type { Deployment, EndpointSlice, Endpoints, Pod, Service, ServiceSpec } from '../../src/lab/apiserver/types.ts';
import { type FakeRuntime, fakeRuntime, readyNode } from './fake-runtime.ts';

interface Cluster {
  readonly server: ApiServer;
  readonly runtime: FakeRuntime;
}

async function withCluster(use: (cluster: Cluster) => Promise<void>, options: ApiServerOptions = {}): Promise<void> {
  const runtime = fakeRuntime();
  const problems: unknown[] = [];
  const server = await startApiServer({ runtime, onProblem: (problem) => problems.push(problem), ...options });
  try {
    server.seed([readyNode('node1', 1, 'za'), readyNode('node2', 2, 'zb')]);
    await use({ server, runtime });
    assert.deepEqual(problems, []);
  } finally {
    await server.close();
  }
  assert.equal(runtime.running.size, 0, 'closing the server ends every pod');
}

/** Waits until something holds; the test's own time limit ends a wait in vain. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setTimeout(5);
}

const LIMIT = { timeout: 20_000 };

test('a deployment becomes pods spread over the nodes, and a Service over them becomes endpoints', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(deployment('web', 4));
    server.apply(service('web'));
    await until(() => readyEndpoints(server, 'web').length === 4);
    const nodes = pods(server).map(({ spec }) => spec.nodeName);
    assert.deepEqual(nodes.sort(), ['node1', 'node1', 'node2', 'node2']);
    const [slice] = slices(server, 'web');
    assert.equal(slice!.metadata.labels!['endpointslice.kubernetes.io/managed-by'], 'endpointslice-controller.k8s.io');
    assert.match(slice!.metadata.annotations!['endpoints.kubernetes.io/last-change-trigger-time']!, /^\d{4}-.*Z$/);
    assert.deepEqual(slice!.ports, [{ name: '', protocol: 'TCP', port: 8080 }]);
    const endpoint = slice!.endpoints!.find(({ nodeName }) => nodeName === 'node2');
    assert.equal(endpoint!.zone, 'zb');
    assert.equal(endpoint!.targetRef!.kind, 'Pod');
    const old = server.get('endpoints', 'default', 'web') as Endpoints;
    assert.equal(old.subsets![0]!.addresses!.length, 4);
  }),
);

test('a pod that ends is terminating but serving until it is gone', LIMIT, () =>
  withCluster(async ({ server, runtime }) => {
    server.apply(deployment('web', 1));
    server.apply(service('web'));
    await until(() => readyEndpoints(server, 'web').length === 1);
    const hold = Promise.withResolvers<void>();
    runtime.holdStops = hold.promise;
    const [pod] = pods(server);
    server.delete('pods', 'default', pod!.metadata.name);
    const ending = () =>
      slices(server, 'web')[0]!.endpoints!.find(({ targetRef }) => targetRef?.name === pod!.metadata.name);
    await until(() => ending()?.conditions?.terminating === true);
    assert.deepEqual(ending()!.conditions, { ready: false, serving: true, terminating: true });
    hold.resolve();
    await until(() => ending() === undefined && readyEndpoints(server, 'web').length === 1);
  }),
);

test('readiness follows the probe, unless the Service publishes what is not ready', LIMIT, () =>
  withCluster(async ({ server, runtime }) => {
    runtime.unready.add('solo');
    server.apply(pod('solo', { readinessProbe: { periodSeconds: 1 } }));
    server.apply(service('solo'));
    server.apply(service('eager', { selector: { app: 'solo' }, publishNotReadyAddresses: true }));
    await until(() => readyEndpoints(server, 'eager').length === 1);
    assert.deepEqual(slices(server, 'solo')[0]!.endpoints![0]!.conditions, {
      ready: false,
      serving: false,
      terminating: false,
    });
    assert.deepEqual(slices(server, 'eager')[0]!.endpoints![0]!.conditions, {
      ready: true,
      serving: false,
      terminating: false,
    });
    runtime.unready.delete('solo');
    await until(() => readyEndpoints(server, 'solo').length === 1);
  }),
);

test('a pod whose process ends is started again, and says so', LIMIT, () =>
  withCluster(async ({ server, runtime }) => {
    server.apply(pod('solo'));
    await until(() => (server.get('pods', 'default', 'solo') as Pod).status?.phase === 'Running');
    runtime.exit('solo', 3);
    const state = () => (server.get('pods', 'default', 'solo') as Pod).status!.containerStatuses![0]!;
    await until(() => state().restartCount === 1 && state().ready);
    assert.equal(state().lastState!.terminated!.exitCode, 3);
  }),
);

test('a pod that is never started again has finished when its process ends', LIMIT, () =>
  withCluster(async ({ server, runtime }) => {
    const once = pod('once') as Pod;
    once.spec.restartPolicy = 'Never';
    server.apply(once);
    server.apply(service('once'));
    await until(() => readyEndpoints(server, 'once').length === 1);
    runtime.exit('once', 0);
    await until(() => (server.get('pods', 'default', 'once') as Pod).status?.phase === 'Succeeded');
    await until(() => slices(server, 'once')[0]!.endpoints!.length === 0);
    server.delete('pods', 'default', 'once');
    await until(() => runtime.running.size === 0);
  }),
);

test('a dual-stack Service has slices of both families, with hints for those nearby', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(deployment('web', 2));
    server.apply(service('web', { ipFamilyPolicy: 'PreferDualStack', trafficDistribution: 'PreferSameNode' }));
    await until(() => readyEndpoints(server, 'web').length === 4);
    assert.deepEqual(
      slices(server, 'web')
        .map(({ addressType }) => addressType)
        .sort(),
      ['IPv4', 'IPv6'],
    );
    const held = server.get('services', 'default', 'web') as Service;
    assert.equal(held.spec.clusterIPs!.length, 2);
    for (const { hints, zone, nodeName } of readyEndpoints(server, 'web')) {
      assert.deepEqual(hints, { forZones: [{ name: zone }], forNodes: [{ name: nodeName }] });
    }
    server.apply(service('web', { trafficDistribution: 'PreferClose' }));
    await until(() => readyEndpoints(server, 'web').every(({ hints }) => hints?.forNodes === undefined));
  }),
);

test('headless Services and named target ports are told in slices', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(pod('solo', { ports: [{ name: 'http', containerPort: 9000 }] }));
    const ports = [{ name: 'web', port: 80, targetPort: 'http' }];
    server.apply(service('quiet', { clusterIP: 'None', selector: { app: 'solo' }, ports }));
    await until(() => readyEndpoints(server, 'quiet').length === 1);
    const [slice] = slices(server, 'quiet');
    assert.equal(slice!.metadata.labels!['service.kubernetes.io/headless'], '');
    assert.deepEqual(slice!.ports, [{ name: 'web', protocol: 'TCP', port: 9000 }]);
  }),
);

test('endpoints written by hand are mirrored into slices', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(service('outside', { selector: {} }));
    const subsets = [
      { addresses: [{ ip: '203.0.113.9' }], notReadyAddresses: [{ ip: '203.0.113.10' }], ports: [{ port: 80 }] },
    ];
    server.apply({ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'outside' }, subsets });
    await until(() => slices(server, 'outside').length === 1);
    assert.deepEqual(
      slices(server, 'outside')[0]!.endpoints!.map(({ conditions }) => conditions?.ready),
      [true, false],
    );
    server.delete('endpoints', 'default', 'outside');
    await until(() => slices(server, 'outside').length === 0);
  }),
);

test('a load balancer gets an address of each family and gives it back', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(service('web', { type: 'LoadBalancer', ipFamilyPolicy: 'RequireDualStack' }));
    const ingress = () => (server.get('services', 'default', 'web') as Service).status?.loadBalancer?.ingress ?? [];
    await until(() => ingress().length === 2);
    assert.deepEqual(ingress(), [
      { ip: '203.0.113.1', ipMode: 'VIP' },
      { ip: '2001:db8:113::1', ipMode: 'VIP' },
    ]);
    server.apply(service('web', { type: 'ClusterIP' }));
    await until(() => ingress().length === 0);
  }),
);

test('a rollout replaces pods without dropping below what must be available', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(deployment('web', 4));
    server.apply(service('web'));
    await until(() => readyEndpoints(server, 'web').length === 4);
    let fewest = 4;
    server.watch('endpointslices', () => {
      fewest = Math.min(fewest, readyEndpoints(server, 'web').length);
    });
    const changed = deployment('web', 4);
    (changed as Deployment).spec.template.spec.containers[0]!.image = 'web:2';
    server.apply(changed);
    const images = () => pods(server).map(({ spec }) => spec.containers[0]!.image);
    await until(() => images().length === 4 && images().every((image) => image === 'web:2'));
    assert.ok(fewest >= 3, `${fewest} endpoints were ready at the worst moment`);
  }),
);

test('what belongs to a deleted deployment goes with it, and stays if it is orphaned', LIMIT, () =>
  withCluster(async ({ server }) => {
    server.apply(deployment('web', 1));
    server.apply(deployment('kept', 1));
    await until(() => pods(server).length === 2 && pods(server).every(({ status }) => status?.phase === 'Running'));
    server.delete('deployments', 'default', 'web');
    server.delete('deployments', 'default', 'kept', { propagation: 'Orphan' });
    await until(() => pods(server).length === 1);
    assert.equal(server.list('replicasets').length, 1);
  }),
);

test('pods wait for a node that takes them, and say why', LIMIT, () =>
  withCluster(async ({ server }) => {
    const picky = pod('picky') as Pod;
    picky.spec.nodeSelector = { disk: 'fast' };
    server.apply(picky);
    const condition = () => (server.get('pods', 'default', 'picky') as Pod).status?.conditions?.[0];
    await until(() => condition()?.reason === 'Unschedulable');
    assert.match(
      condition()!.message!,
      /0\/2 nodes are available: 2 node\(s\) didn't match Pod's node affinity\/selector/,
    );
    const node = readyNode('node3', 3, 'za');
    node.metadata.labels!.disk = 'fast';
    server.apply(node);
    await until(() => (server.get('pods', 'default', 'picky') as Pod).spec.nodeName === 'node3');
    server.delete('nodes', undefined, 'node3');
    await until(() => server.get('pods', 'default', 'picky') === undefined);
  }),
);

function pods(server: ApiServer): Pod[] {
  return server.list('pods') as Pod[];
}

function slices(server: ApiServer, name: string): EndpointSlice[] {
  return server.list('endpointslices', { labelSelector: `kubernetes.io/service-name=${name}` }) as EndpointSlice[];
}

function readyEndpoints(server: ApiServer, name: string): NonNullable<EndpointSlice['endpoints']> {
  return slices(server, name).flatMap(({ endpoints }) =>
    (endpoints ?? []).filter(({ conditions }) => conditions?.ready),
  );
}

function deployment(name: string, replicas: number): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'web:1' }] } },
    },
  };
}

function pod(name: string, container: Partial<Pod['spec']['containers'][number]> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: 'main', image: 'web:1', ...container }] },
  };
}

function service(name: string, spec: Partial<ServiceSpec> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  };
}
