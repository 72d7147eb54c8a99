import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServicePort } from '../model/model.ts';
import { generalDifferences, type ModeOutlook, portDifferences } from './migration.ts';

const iptables: ModeOutlook = {
  mode: 'iptables',
  nodePortAddresses: 'every address',
  localhostNodePorts: true,
  scheduler: 'rr',
};
const nftables: ModeOutlook = {
  mode: 'nftables',
  nodePortAddresses: ['192.0.2.10'],
  localhostNodePorts: false,
  scheduler: 'rr',
};
const ipvs: ModeOutlook = {
  mode: 'ipvs',
  nodePortAddresses: 'every address',
  localhostNodePorts: false,
  scheduler: 'lc',
};
const userspace: ModeOutlook = {
  mode: 'userspace',
  nodePortAddresses: 'every address',
  localhostNodePorts: true,
  scheduler: 'rr',
};

function port(changes: Partial<ServicePort> = {}): ServicePort {
  const clusterWide = { over: 'cluster', verdict: 'balance', shortCircuitsLocalClients: false } as const;
  return {
    displayName: 'shop/cart:http',
    namespace: 'shop',
    serviceName: 'cart',
    portName: 'http',
    protocol: 'TCP',
    frontends: [{ kind: 'cluster-ip', ip: '10.96.0.1', port: 80 }],
    internal: clusterWide,
    external: clusterWide,
    hasEndpoints: true,
    isExternallyAccessible: false,
    backends: { cluster: [], local: [], reachable: [] },
    affinityTimeoutSeconds: 0,
    sourceRanges: [],
    sourceRangesIncludeNode: false,
    healthCheckNodePort: 0,
    leftOut: [],
    serving: [],
    ...changes,
  };
}

const aspects = (of: ServicePort, from: ModeOutlook, to: ModeOutlook): readonly string[] =>
  portDifferences(of, from, to).map(({ aspect }) => aspect);

test('a plain cluster IP is the same in every mode', () => {
  for (const to of [nftables, ipvs, userspace]) assert.deepEqual(portDifferences(port(), iptables, to), []);
});

test('node ports move to other addresses, and may leave the loopback', () => {
  const nodePort = port({ frontends: [{ kind: 'node-port', port: 30080 }], isExternallyAccessible: true });
  assert.deepEqual(portDifferences(nodePort, iptables, nftables), [
    { aspect: 'node port', before: 'on every address of the node', after: 'on 192.0.2.10' },
    { aspect: 'node port on localhost', before: 'answers', after: 'does not answer' },
  ]);
  assert.deepEqual(aspects(nodePort, iptables, userspace), []);
});

test('affinity, policy Local and SCTP are told where modes differ in them', () => {
  assert.deepEqual(aspects(port({ affinityTimeoutSeconds: 600 }), iptables, ipvs), ['session affinity']);
  assert.deepEqual(aspects(port({ affinityTimeoutSeconds: 600 }), iptables, nftables), []);
  const local = port({ internal: { over: 'local', verdict: 'drop', shortCircuitsLocalClients: false } });
  assert.deepEqual(aspects(local, nftables, ipvs), ['policy Local, no endpoint here']);
  assert.deepEqual(aspects(port({ protocol: 'SCTP' }), iptables, userspace), ['SCTP']);
});

test('what holds for every Service is told once, and going back tells the reverse', () => {
  const there = generalDifferences(iptables, ipvs);
  assert.deepEqual(there.map(({ after }) => after).includes('by the scheduler lc'), true);
  assert.deepEqual(
    generalDifferences(ipvs, iptables),
    there.map(({ aspect, before, after }) => ({ aspect, before: after, after: before })),
  );
  assert.deepEqual(generalDifferences(iptables, iptables), []);
});
