import assert from 'node:assert/strict';
import test from 'node:test';
import type { NftOperation } from '../../kernel/nftables-objects.ts';
import type { Backend, Frontend, NodeModel, ServiceModel, ServicePort, TrafficClass } from '../../model/model.ts';
import { diff, lingeringOf, transactionsOf } from './diff.ts';
import type { NftablesFacts } from './facts.ts';
import { allRows, type NftablesPlan, plan } from './plan.ts';
import { ruleText } from './print.ts';

const FACTS: NftablesFacts = {
  family: 'IPv4',
  masqueradeMark: 0x4000,
  masqueradeAll: false,
  nodePortAddresses: { kind: 'some', ips: ['192.0.2.10', '127.0.0.1'] },
  localhostNodePorts: false,
  detector: { kind: 'source', cidr: '10.50.0.0/16' },
  hasCounters: false,
  releasesChainsAtOnce: true,
};
const BALANCE: TrafficClass = { over: 'cluster', verdict: 'balance', shortCircuitsLocalClients: false };
const clusterIp = (ip: string): Frontend => ({ kind: 'cluster-ip', ip, port: 80 });

function backend(ip: string, isLocal = false): Backend {
  const rest = { nodeName: undefined, zone: undefined, target: undefined, slice: 's', isTerminating: false };
  return { ip, port: 8080, address: `${ip}:8080`, isLocal, ...rest };
}

function service(
  name: string,
  frontends: readonly Frontend[],
  backends: readonly Backend[],
  rest: Partial<ServicePort> = {},
): ServiceModel {
  const [namespace, own] = name.split('/') as [string, string];
  const hasEndpoints = backends.length > 0;
  const none: TrafficClass = { ...BALANCE, verdict: 'reject' };
  const port: ServicePort = {
    displayName: `${name}:http`,
    namespace,
    serviceName: own,
    portName: 'http',
    protocol: 'TCP',
    frontends,
    internal: hasEndpoints ? BALANCE : none,
    external: hasEndpoints ? BALANCE : none,
    hasEndpoints,
    isExternallyAccessible: false,
    backends: { cluster: backends, local: [], reachable: backends },
    affinityTimeoutSeconds: 0,
    sourceRanges: [],
    sourceRangesIncludeNode: false,
    healthCheckNodePort: 0,
    leftOut: [],
    serving: [],
    ...rest,
  };
  return {
    namespace,
    name: own,
    uid: '',
    ports: [port],
    healthCheckNodePort: 0,
    localReadyEndpoints: 0,
    endpointCount: 0,
  };
}

const NONE_LACKS = { ports: 0, services: 0 };

function model(
  services: readonly ServiceModel[],
  changed?: readonly string[],
  serviceCIDRs: readonly string[] = [],
): NodeModel {
  return {
    family: 'IPv4',
    services: new Map(services.map((one) => [`${one.namespace}/${one.name}`, one])),
    changed: new Set(changed),
    changedUdp: false,
    isFresh: changed === undefined,
    endpointCount: 0,
    withoutLocalEndpoints: { internal: NONE_LACKS, external: NONE_LACKS },
    healthChecked: new Map(),
    serviceCIDRs,
  };
}

/** `add-elements service-ips 10.96.0.1 . tcp . 80`, one line for each row. */
function steps(held: NftablesPlan, wanted: NftablesPlan): string[] {
  const change = diff(held, wanted);
  const later = lingeringOf(change).map(({ set, key }) => `later: delete ${set.name} ${key}`);
  const now = transactionsOf(change)
    .flat()
    .flatMap((operation: NftOperation) => {
      switch (operation.op) {
        case 'add-elements':
          return operation.elements.map(
            ({ key, value }) => `add ${operation.set.name} ${key}${value ? ` : ${value}` : ''}`,
          );
        case 'delete-elements':
          return operation.keys.map((key) => `delete ${operation.set.name} ${key}`);
        case 'add-chain':
          return [`add chain ${operation.chain.name}`];
        case 'add-rule':
          return [`add rule ${operation.rule.chain}`];
        case 'flush-chain':
        case 'delete-chain':
          return [`${operation.op.replace('-', ' ')} ${operation.chain}`];
        case 'delete-set':
          return [`delete set ${operation.set}`];
        case 'add-set':
          return [`add set ${operation.set.name}`];
        default:
          return [operation.op];
      }
    });
  return [...now, ...later];
}

const cart = (...backends: Backend[]): ServiceModel => service('shop/cart', [clusterIp('10.96.0.1')], backends);

test('a new service is its rows, and a chain only if it is the first with so many endpoints', () => {
  const first = plan(model([]), FACTS);
  const second = plan(model([cart(backend('10.50.1.1', true))], ['shop/cart']), FACTS, first);
  assert.deepEqual(steps(first, second), [
    'add chain pick-tcp-1',
    'add rule pick-tcp-1',
    'add cluster-ips 10.96.0.1',
    'add hairpin-connections 10.50.1.1 . 10.50.1.1 . tcp . 8080',
    'add service-ips 10.96.0.1 . tcp . 80 : goto pick-tcp-1',
    'add endpoints-tcp 10.96.0.1 . 80 . 0 : 10.50.1.1 . 8080',
  ]);
  const menu = service('shop/menu', [clusterIp('10.96.0.2')], [backend('10.50.1.2')]);
  const third = plan(model([cart(backend('10.50.1.1', true)), menu], ['shop/menu']), FACTS, second);
  assert.deepEqual(steps(second, third), [
    'add cluster-ips 10.96.0.2',
    'add service-ips 10.96.0.2 . tcp . 80 : goto pick-tcp-1',
    'add endpoints-tcp 10.96.0.2 . 80 . 0 : 10.50.1.2 . 8080',
  ]);
});

test('losing the last endpoint turns the row around, and the chain goes with it', () => {
  const first = plan(model([cart(backend('10.50.1.1'))]), FACTS);
  const second = plan(model([cart()], ['shop/cart']), FACTS, first);
  assert.deepEqual(steps(first, second), [
    'delete service-ips 10.96.0.1 . tcp . 80',
    'flush chain pick-tcp-1',
    'add no-endpoint-services 10.96.0.1 . tcp . 80 : goto reject-chain',
    'delete chain pick-tcp-1',
    'later: delete endpoints-tcp 10.96.0.1 . 80 . 0',
  ]);
});

test('on older kernels a chain is emptied first and deleted with the next change, unless it is needed again', () => {
  const facts = { ...FACTS, releasesChainsAtOnce: false };
  const first = plan(model([cart(backend('10.50.1.1'))]), facts);
  const second = plan(model([cart()], ['shop/cart']), facts, first);
  assert.ok(steps(first, second).includes('flush chain pick-tcp-1'));
  assert.ok(!steps(first, second).includes('delete chain pick-tcp-1'));
  const third = plan(model([cart()], []), facts, second);
  assert.deepEqual(steps(second, third), ['delete chain pick-tcp-1']);

  const again = plan(model([cart(backend('10.50.1.1'))]), facts);
  const gone = plan(model([cart()], ['shop/cart']), facts, again);
  const back = plan(model([cart(backend('10.50.1.1'))], ['shop/cart']), facts, gone);
  assert.ok(!steps(gone, back).includes('delete chain pick-tcp-1'));
  assert.ok(steps(gone, back).includes('add rule pick-tcp-1'));
});

test('nothing changed is nothing to do, even if everything was read anew', () => {
  const services = [cart(backend('10.50.1.1'))];
  const first = plan(model(services), FACTS);
  const second = plan(model(services, []), FACTS, first);
  assert.deepEqual(steps(first, second), []);
  const third = plan(model([cart(backend('10.50.1.1'))]), FACTS, second);
  assert.deepEqual(steps(second, third), []);
});

test('rows that two services share stay until the second one goes', () => {
  const pod = backend('10.50.1.1', true);
  const menu = service('shop/menu', [clusterIp('10.96.0.2')], [pod]);
  const first = plan(model([cart(pod), menu]), FACTS);
  const second = plan(model([menu], ['shop/cart']), FACTS, first);
  assert.ok(!steps(first, second).some((step) => step.includes('hairpin')));
  const third = plan(model([], ['shop/menu']), FACTS, second);
  assert.ok(steps(second, third).includes('later: delete hairpin-connections 10.50.1.1 . 10.50.1.1 . tcp . 8080'));
});

test('of two services that claim one address the first by name has it, in whatever order they came', () => {
  const external: Frontend = { kind: 'external-ip', ip: '203.0.113.1', port: 80 };
  const a = service('shop/a', [external], [backend('10.50.1.1')]);
  const b = service('shop/b', [external], [backend('10.50.1.2')]);
  const endpoint = (of: NftablesPlan): unknown => [...allRows(of)].find(({ set }) => set === 'endpoints-tcp')?.value;
  const first = plan(model([b]), FACTS);
  assert.equal(endpoint(first), '10.50.1.2 . 8080');
  const second = plan(model([b, a], ['shop/a']), FACTS, first);
  assert.equal(endpoint(second), '10.50.1.1 . 8080');
  assert.deepEqual(steps(first, second), [
    'delete service-ips 203.0.113.1 . tcp . 80',
    'delete endpoints-tcp 203.0.113.1 . 80 . 0',
    'add service-ips 203.0.113.1 . tcp . 80 : goto pick-tcp-1',
    'add endpoints-tcp 203.0.113.1 . 80 . 0 : 10.50.1.1 . 8080',
  ]);
  const third = plan(model([b], ['shop/a']), FACTS, second);
  assert.equal(endpoint(third), '10.50.1.2 . 8080');
});

test('a service without endpoints leaves an address to another that has some', () => {
  const external: Frontend = { kind: 'external-ip', ip: '203.0.113.1', port: 80 };
  const b = service('shop/b', [external], [backend('10.50.1.2')]);
  const sets = (of: NftablesPlan): string[] => [...allRows(of)].map(({ set, value }) => `${set} ${value}`);
  const first = plan(model([service('shop/a', [external], [backend('10.50.1.1')]), b]), FACTS);
  assert.ok(sets(first).includes('endpoints-tcp 10.50.1.1 . 8080'));
  const second = plan(model([service('shop/a', [external], []), b], ['shop/a']), FACTS, first);
  assert.ok(sets(second).includes('endpoints-tcp 10.50.1.2 . 8080'));
  assert.ok(!sets(second).includes('no-endpoint-services goto reject-chain'));
});

test('sources are limited to the ranges, and to the load-balancer IPs too where the node is among them', () => {
  const frontends: Frontend[] = [clusterIp('10.96.0.1'), { kind: 'load-balancer-ip', ip: '203.0.113.1', port: 80 }];
  const firewall = (rest: Partial<ServicePort>): unknown =>
    plan(model([service('shop/a', frontends, [], rest)]), FACTS)
      .index.chains()
      .filter(({ name }) => name.startsWith('firewall-'))
      .map(({ rules }) => rules.map((rule) => ruleText(rule, 'IPv4')));
  const sourceRanges = ['192.0.2.0/24'];
  assert.deepEqual(firewall({ sourceRanges }), [['ip saddr != 192.0.2.0/24 drop']], 'also without endpoints');
  assert.deepEqual(firewall({ sourceRanges, sourceRangesIncludeNode: true }), [
    ['ip saddr != { 192.0.2.0/24, 203.0.113.1 } drop'],
  ]);
});

test('under policy Local pods go on as they are, processes of this node masqueraded', () => {
  const rules = (facts: NftablesFacts): unknown =>
    plan(model([]), facts)
      .fixed.chains.find(({ name }) => name === 'short-circuit')!
      .rules.map((rule) => ruleText(rule, 'IPv4'));
  const ofNode = [
    'fib saddr type local meta mark set meta mark | 0x00004000 comment "masquerade local traffic"',
    'fib saddr type local goto cluster-policy comment "short-circuit local traffic"',
  ];
  const ofPods = 'ip saddr 10.50.0.0/16 goto cluster-policy comment "short-circuit pod traffic"';
  assert.deepEqual(rules(FACTS), [ofPods, ...ofNode]);
  assert.deepEqual(rules({ ...FACTS, detector: { kind: 'none' } }), ofNode);
});

test('who is in both lists of a service is remembered in both', () => {
  const [both, other] = [backend('10.50.1.1', true), backend('10.50.2.1')];
  const local: TrafficClass = { over: 'local', verdict: 'balance', shortCircuitsLocalClients: true };
  const sticky = service('shop/a', [{ kind: 'node-port', port: 30080 }], [both, other], {
    backends: { cluster: [both, other], local: [both], reachable: [both, other] },
    external: local,
    affinityTimeoutSeconds: 600,
  });
  const learns = [...allRows(plan(model([sticky]), FACTS))].filter(({ set }) => set === 'learn-nodeports');
  assert.deepEqual(
    learns.map(({ key, value }) => `${key} : ${value?.replace(/-[A-Z2-7]{8}-/, '-')}`),
    [
      'tcp . 30080 . 10.50.1.1 . 8080 : goto learn-cluster-local-shop/a/tcp/http/8080',
      'tcp . 30080 . 10.50.2.1 . 8080 : goto learn-cluster-shop/a/tcp/http/8080',
    ],
  );
});

test('service ranges and node-port addresses change rules and rows of the fixed part alone', () => {
  const first = plan(model([]), FACTS);
  assert.deepEqual([...allRows(first)], [{ set: 'nodeport-ips', key: '192.0.2.10' }]);
  const second = plan(model([], [], ['10.96.0.0/16']), FACTS, first);
  assert.deepEqual(steps(first, second), [
    'flush chain cluster-ips-check',
    'add rule cluster-ips-check',
    'add rule cluster-ips-check',
  ]);
  const all: NftablesFacts = { ...FACTS, nodePortAddresses: { kind: 'all' } };
  const third = plan(model([], [], ['10.96.0.0/16']), all, second);
  assert.ok(steps(second, third).includes('delete set nodeport-ips'));
  assert.ok(!steps(second, third).some((step) => step.startsWith('delete nodeport-ips')));
});
