import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestCluster } from '../../test/support/cluster.ts';
import type { Manifest } from '../../test/support/golden.ts';
import { endpointManifest, nodeManifest, serviceManifest, sliceManifest } from '../../test/support/manifests.ts';
import { WORKER_7 } from '../../test/support/worked.ts';
import { parseNode } from '../api/parse.ts';
import type { NodeModel, ServicePort } from './model.ts';
import { resolveNode } from './resolve.ts';

const CLUSTER = {};
const ITP_LOCAL = { internalTrafficPolicy: 'Local' };
const NODE_PORT = { type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] };
const ETP_LOCAL = { ...NODE_PORT, externalTrafficPolicy: 'Local' };

interface Case {
  readonly about: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Of e1, e2 and so on. */
  readonly endpoints: readonly string[];
  readonly cluster: string;
  readonly local: string;
  readonly reachable: string;
  readonly leftOut?: Readonly<Record<string, string>>;
  readonly hasEndpoints?: false;
}

// This node is worker-7, in zone a.
const CASES: readonly Case[] = [
  {
    about: 'a ready endpoint beside one that is not',
    spec: CLUSTER,
    endpoints: ['N', 'R'],
    cluster: 'e2',
    local: '',
    reachable: 'e2',
    leftOut: { e1: 'not-ready' },
  },
  {
    about: 'only terminating endpoints',
    spec: CLUSTER,
    endpoints: ['TL', 'T'],
    cluster: 'e1 e2',
    local: '',
    reachable: 'e1 e2',
  },
  {
    about: 'nobody usable',
    spec: CLUSTER,
    endpoints: ['N'],
    cluster: '',
    local: '',
    reachable: '',
    hasEndpoints: false,
    leftOut: { e1: 'not-ready' },
  },
  {
    about: 'no endpoint at all',
    spec: CLUSTER,
    endpoints: [],
    cluster: '',
    local: '',
    reachable: '',
    hasEndpoints: false,
  },
  {
    about: 'internal policy Local, all remote',
    spec: ITP_LOCAL,
    endpoints: ['R', 'R'],
    cluster: '',
    local: '',
    reachable: '',
    leftOut: { e1: 'not-local', e2: 'not-local' },
  },
  {
    about: 'internal policy Local, one here',
    spec: ITP_LOCAL,
    endpoints: ['RL', 'R'],
    cluster: '',
    local: 'e1',
    reachable: 'e1',
    leftOut: { e2: 'not-local' },
  },
  {
    about: 'internal policy Local, a remote one terminating',
    spec: ITP_LOCAL,
    endpoints: ['T', 'TL', 'RL'],
    cluster: '',
    local: 'e3',
    reachable: 'e3',
    leftOut: { e1: 'not-local', e2: 'terminating' },
  },
  {
    about: 'internal policy Local, hints for another zone',
    spec: ITP_LOCAL,
    endpoints: ['RL@a', 'R@b'],
    cluster: '',
    local: 'e1',
    reachable: 'e1',
    leftOut: { e2: 'not-local' },
  },
  {
    about: 'internal policy Local with a node port',
    spec: { ...NODE_PORT, ...ITP_LOCAL },
    endpoints: ['RL', 'R'],
    cluster: 'e1 e2',
    local: 'e1',
    reachable: 'e1 e2',
  },
  {
    about: 'external policy Local, the local one terminating',
    spec: ETP_LOCAL,
    endpoints: ['R', 'NL', 'TL', 'T'],
    cluster: 'e1',
    local: 'e3',
    reachable: 'e1 e3',
    leftOut: { e2: 'not-ready', e4: 'terminating' },
  },
  {
    about: 'external policy Local, all remote and terminating',
    spec: ETP_LOCAL,
    endpoints: ['T', 'T'],
    cluster: 'e1 e2',
    local: '',
    reachable: 'e1 e2',
  },
  {
    about: 'external policy Local of a service with nothing external',
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local' },
    endpoints: ['R', 'RL'],
    cluster: 'e1 e2',
    local: '',
    reachable: 'e1 e2',
  },
  {
    about: 'zone hints',
    spec: CLUSTER,
    endpoints: ['R@a', 'R@b', 'R@c', 'R@a'],
    cluster: 'e1 e4',
    local: '',
    reachable: 'e1 e4',
    leftOut: { e2: 'other-zone', e3: 'other-zone' },
  },
  {
    about: 'zone hints, one endpoint without',
    spec: CLUSTER,
    endpoints: ['R@a', 'R@b', 'R', 'R@a'],
    cluster: 'e1 e2 e3 e4',
    local: '',
    reachable: 'e1 e2 e3 e4',
  },
  {
    about: 'zone hints, none ready in this zone',
    spec: CLUSTER,
    endpoints: ['N@a', 'R@b', 'R@c', 'N@a'],
    cluster: 'e2 e3',
    local: '',
    reachable: 'e2 e3',
    leftOut: { e1: 'not-ready', e4: 'not-ready' },
  },
  {
    about: 'zone hints have no say about local endpoints',
    spec: ETP_LOCAL,
    endpoints: ['RL@a', 'RL@b', 'R@c', 'R@a'],
    cluster: 'e1 e4',
    local: 'e1 e2',
    reachable: 'e1 e2 e4',
    leftOut: { e3: 'other-zone' },
  },
  {
    about: 'node hints beat zone hints',
    spec: CLUSTER,
    endpoints: ['R@a=worker-7', 'R@a=x'],
    cluster: 'e1',
    local: '',
    reachable: 'e1',
    leftOut: { e2: 'other-node' },
  },
  {
    about: 'node hints for others leave zone hints in charge',
    spec: CLUSTER,
    endpoints: ['R@a=x', 'R@b=y'],
    cluster: 'e1',
    local: '',
    reachable: 'e1',
    leftOut: { e2: 'other-zone' },
  },
];

describe('who answers', () => {
  for (const { about, spec, endpoints, cluster, local, reachable, leftOut, hasEndpoints } of CASES) {
    test(about, () => {
      const port = portOf(
        serviceManifest('shop/cart', spec),
        sliceManifest(
          'shop/cart',
          endpoints.map((text, i) => endpointManifest(i + 1, text)),
        ),
      );
      const names = (list: readonly { readonly address: string }[]): string =>
        list.map(({ address }) => nameOf(address)).join(' ');
      assert.equal(names(port.backends.cluster), cluster, 'cluster');
      assert.equal(names(port.backends.local), local, 'local');
      assert.equal(names(port.backends.reachable), reachable, 'reachable');
      assert.equal(port.hasEndpoints, hasEndpoints ?? true, 'hasEndpoints');
      assert.deepEqual(
        Object.fromEntries(port.leftOut.map(({ address, reason }) => [nameOf(address), reason])),
        leftOut ?? {},
      );
    });
  }
});

describe('what clients get', () => {
  const verdicts = (spec: Readonly<Record<string, unknown>>, ...endpoints: readonly string[]): string => {
    const slice = sliceManifest(
      'shop/cart',
      endpoints.map((text, i) => endpointManifest(i + 1, text)),
    );
    const { internal, external } = portOf(serviceManifest('shop/cart', spec), slice);
    return `${internal.over} ${internal.verdict}, ${external.over} ${external.verdict}`;
  };
  test('everybody is balanced over the cluster by default', () =>
    assert.equal(verdicts(NODE_PORT, 'R'), 'cluster balance, cluster balance'));
  test('without endpoints everybody is rejected, whatever the policy', () =>
    assert.equal(verdicts({ ...ETP_LOCAL, ...ITP_LOCAL }, 'N'), 'local reject, local reject'));
  test('without local endpoints, each policy Local drops for itself', () => {
    assert.equal(verdicts(ETP_LOCAL, 'R'), 'cluster balance, local drop');
    assert.equal(verdicts({ ...NODE_PORT, ...ITP_LOCAL }, 'R'), 'local drop, cluster balance');
  });
  test('only an external policy Local short-circuits the clients of this node', () => {
    const at = (spec: Readonly<Record<string, unknown>>): boolean =>
      portOf(serviceManifest('shop/cart', spec)).external.shortCircuitsLocalClients;
    assert.equal(at(ETP_LOCAL), true);
    assert.equal(at(NODE_PORT), false);
  });
});

describe('a service in the model', () => {
  test('lists its frontends: cluster IP, external IPs, load-balancer IPs, node port', () => {
    const manifest = serviceManifest(
      'shop/cart',
      { ...NODE_PORT, type: 'LoadBalancer', externalIPs: ['198.51.100.1', '2001:db8::1'] },
      { loadBalancer: { ingress: [{ ip: '203.0.113.1' }, { hostname: 'lb.example' }] } },
    );
    assert.deepEqual(portOf(manifest).frontends, [
      { kind: 'cluster-ip', ip: '10.99.0.21', port: 80 },
      { kind: 'external-ip', ip: '198.51.100.1', port: 80 },
      { kind: 'load-balancer-ip', ip: '203.0.113.1', port: 80 },
      { kind: 'node-port', port: 30080 },
    ]);
  });

  test('with external IPs forbidden still counts as reachable through them', () => {
    const cluster = new TestCluster().apply(serviceManifest('shop/cart', { externalIPs: ['198.51.100.1'] }));
    const model = resolveNode(cluster.tracker.take('IPv4'), { ...WORKER_7, allowsExternalIPs: false });
    const port = model.services.get('shop/cart')!.ports[0]!;
    assert.deepEqual(
      port.frontends.map(({ kind }) => kind),
      ['cluster-ip'],
    );
    assert.equal(port.isExternallyAccessible, true);
  });

  test('is absent from the family it has no cluster IP in', () => {
    const cluster = new TestCluster().apply(serviceManifest('shop/cart'));
    assert.equal(resolveNode(cluster.tracker.take('IPv6'), WORKER_7).services.size, 0);
  });

  test('names the port only where it has a name', () => {
    assert.equal(portOf(serviceManifest('shop/cart')).displayName, 'shop/cart:http');
    assert.equal(portOf(serviceManifest('shop/cart', { ports: [{ port: 80 }] })).displayName, 'shop/cart');
  });

  test('has its ports in order of name and protocol', () => {
    const ports = [
      { name: 'b', port: 1 },
      { name: 'a', port: 2, protocol: 'UDP' },
      { name: 'a', port: 3 },
      { port: 4, protocol: 'SCTP' },
    ];
    const service = modelOf(serviceManifest('shop/cart', { ports })).services.get('shop/cart')!;
    assert.deepEqual(
      service.ports.map(({ portName, protocol }) => `${portName}/${protocol}`),
      ['/SCTP', 'a/TCP', 'a/UDP', 'b/TCP'],
    );
  });

  test('knows whether its source ranges admit this node', () => {
    const includes = (range: string): boolean =>
      portOf(serviceManifest('shop/cart', { loadBalancerSourceRanges: [range] })).sourceRangesIncludeNode;
    assert.equal(includes('172.20.5.0/24'), true);
    assert.equal(includes('172.20.6.0/24'), false);
  });

  test('counts local ready endpoints once, however many ports they have', () => {
    const ports = [
      { name: 'http', port: 8080 },
      { name: 'admin', port: 9090 },
    ];
    const endpoints = ['RL', 'RL', 'TL', 'R'].map((text, i) => endpointManifest(i + 1, text));
    const model = modelOf(serviceManifest('shop/cart'), sliceManifest('shop/cart', endpoints, { ports }));
    assert.equal(model.services.get('shop/cart')!.localReadyEndpoints, 2);
    assert.equal(model.endpointCount, 4, 'only ports that the Service has count for the size of the cluster');
  });

  test('is counted, and each of its ports, while a policy Local leaves it without an endpoint here', () => {
    const ports = [
      { name: 'http', port: 80, nodePort: 30080 },
      { name: 'admin', port: 81, nodePort: 30081 },
    ];
    const offered = { ports: ports.map(({ name, port }) => ({ name, port })) };
    const spec = { type: 'NodePort', ports, externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' };
    const cluster = new TestCluster().apply(serviceManifest('shop/cart', spec));
    let model: NodeModel | undefined;
    const lacks = (...endpoints: readonly string[]): NodeModel['withoutLocalEndpoints'] => {
      const manifests = endpoints.map((text, i) => endpointManifest(i + 1, text));
      cluster.apply(sliceManifest('shop/cart', manifests, offered));
      model = resolveNode(cluster.tracker.take('IPv4'), WORKER_7, model);
      return model.withoutLocalEndpoints;
    };
    const none = { ports: 0, services: 0 };
    const both = { ports: 2, services: 1 };
    assert.deepEqual(lacks('N'), { internal: none, external: none });
    assert.deepEqual(lacks('R'), { internal: both, external: both });
    assert.deepEqual(lacks('R', 'RL'), { internal: none, external: none });
    cluster.apply(serviceManifest('shop/cart', { ...spec, internalTrafficPolicy: 'Cluster' }));
    assert.deepEqual(lacks('R'), { internal: none, external: both });
  });

  test('remembers which UDP endpoints say they are serving', () => {
    const ports = [{ name: 'http', port: 8080, protocol: 'UDP' }];
    const endpoints = ['R', 'T', 'N'].map((text, i) => endpointManifest(i + 1, text));
    const udp = portOf(
      serviceManifest('shop/cart', { ports: [{ name: 'http', port: 80, protocol: 'UDP' }] }),
      sliceManifest('shop/cart', endpoints, { ports }),
    );
    assert.deepEqual(udp.serving, ['10.66.0.1:8080', '10.66.0.2:8080']);
  });
});

describe('endpoints of several slices', () => {
  const merged = (...slices: readonly Manifest[]): string =>
    portOf(serviceManifest('shop/cart'), ...slices)
      .backends.cluster.map(({ address, slice }) => `${address} of ${slice}`)
      .join(', ');
  const at = (ip: string, fields: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => ({
    addresses: [ip],
    ...fields,
  });
  const GOING = { conditions: { ready: true, terminating: true } };

  test('are merged, and sorted by the text of address and port', () =>
    assert.equal(
      merged(
        sliceManifest('shop/cart', [at('10.0.2.9'), at('10.0.1.1')]),
        sliceManifest('shop/cart', [at('10.0.2.10'), at('10.0.1.10')], {}, 'cart-2'),
      ),
      '10.0.1.10:8080 of cart-2, 10.0.1.1:8080 of cart-1, 10.0.2.10:8080 of cart-2, 10.0.2.9:8080 of cart-1',
    ));
  test('count once where an address is repeated, the later slice winning', () =>
    assert.equal(
      merged(sliceManifest('shop/cart', [at('10.0.0.1')]), sliceManifest('shop/cart', [at('10.0.0.1')], {}, 'cart-2')),
      '10.0.0.1:8080 of cart-2',
    ));
  test('that do not terminate win over those that do, in any order', () => {
    const going = (name: string): Manifest => sliceManifest('shop/cart', [at('10.0.0.1', GOING)], {}, name);
    const staying = (name: string): Manifest => sliceManifest('shop/cart', [at('10.0.0.1')], {}, name);
    assert.equal(merged(going('cart-1'), staying('cart-2')), '10.0.0.1:8080 of cart-2');
    assert.equal(merged(staying('cart-1'), going('cart-2')), '10.0.0.1:8080 of cart-1');
    assert.equal(merged(going('cart-1'), going('cart-2')), '10.0.0.1:8080 of cart-1');
  });
  test('with another port number are other endpoints', () =>
    assert.equal(
      merged(
        sliceManifest('shop/cart', [at('10.0.0.1')]),
        sliceManifest('shop/cart', [at('10.0.0.1')], { ports: [{ name: 'http', port: 81 }] }, 'cart-2'),
      ),
      '10.0.0.1:8080 of cart-1, 10.0.0.1:81 of cart-2',
    ));
});

function portOf(...manifests: readonly Manifest[]): ServicePort {
  return modelOf(...manifests).services.get('shop/cart')!.ports[0]!;
}

function modelOf(...manifests: readonly Manifest[]): NodeModel {
  const { tracker } = new TestCluster().apply(...manifests);
  tracker.setNode(parseNode(nodeManifest('worker-7', 'a')).value!);
  return resolveNode(tracker.take('IPv4'), WORKER_7);
}

function nameOf(address: string): string {
  return `e${/\.(\d+):/.exec(address)?.[1]}`;
}
