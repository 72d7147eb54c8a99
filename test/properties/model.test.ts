// What holds for any cluster: who is chosen, who is left out, and that following a cluster equals seeing it for the first time.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { FAMILIES } from '../../src/lib/ip.ts';
import type { Backend, NodeModel, ServicePort } from '../../src/model/model.ts';
import { type NodeIdentity, resolveNode } from '../../src/model/resolve.ts';
import { TestCluster } from '../support/cluster.ts';
import type { Manifest } from '../support/golden.ts';
import { randomSteps } from '../support/random-cluster.ts';

const IDENTITY: NodeIdentity = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};

test('a model that follows the cluster equals one resolved from nothing', () =>
  fc.assert(
    fc.property(randomSteps(8), (steps) => {
      const cluster = new TestCluster();
      const manifests = new Map<string, Manifest>();
      const models: Partial<Record<(typeof FAMILIES)[number], NodeModel>> = {};
      for (const step of steps) {
        cluster.delete(...step.delete).apply(...step.apply);
        for (const manifest of step.delete) manifests.delete(keyOf(manifest));
        for (const manifest of step.apply) manifests.set(keyOf(manifest), manifest);
        const fresh = new TestCluster().apply(...manifests.values());
        for (const family of FAMILIES) {
          const model = resolveNode(cluster.tracker.take(family), IDENTITY, models[family]);
          models[family] = model;
          const wanted = resolveNode(fresh.tracker.take(family), IDENTITY);
          assert.deepEqual(inOrder(model), inOrder(wanted));
          assert.equal(model.endpointCount, wanted.endpointCount);
        }
      }
    }),
    { numRuns: 200 },
  ));

describe('in any cluster', () => {
  const forAllPorts = (check: (port: ServicePort) => void): void =>
    fc.assert(
      fc.property(randomSteps(4), (steps) => {
        const cluster = new TestCluster();
        for (const step of steps) cluster.apply(...step.apply);
        for (const family of FAMILIES) {
          const model = resolveNode(cluster.tracker.take(family), IDENTITY);
          for (const { ports } of model.services.values()) for (const port of ports) check(port);
        }
      }),
      { numRuns: 200 },
    );
  const addresses = (list: readonly { readonly address: string }[]): string[] => list.map(({ address }) => address);

  test('every endpoint is either reachable or left out for a reason, never both', () =>
    forAllPorts(({ backends, leftOut }) => {
      const all = [...addresses(backends.reachable), ...addresses(leftOut)];
      assert.equal(new Set(all).size, all.length);
    }));

  test('the reachable are those of the two lists, all in order of their text', () =>
    forAllPorts(({ backends: { cluster, local, reachable } }) => {
      assert.deepEqual(addresses(reachable), [...new Set([...addresses(cluster), ...addresses(local)])].sort());
      for (const list of [cluster, local]) assert.deepEqual(addresses(list), addresses(list).sort());
    }));

  test('the local list holds endpoints of this node alone', () =>
    forAllPorts(({ backends: { local } }) =>
      assert.ok(local.every(({ isLocal, nodeName }) => isLocal && nodeName === 'n1')),
    ));

  test('terminating endpoints are used only where all of a list are', () =>
    forAllPorts(({ backends: { cluster, local } }) => {
      const isMixed = (list: readonly Backend[]): boolean =>
        new Set(list.map(({ isTerminating }) => isTerminating)).size > 1;
      assert.ok(!isMixed(cluster) && !isMixed(local));
    }));

  test('whoever is balanced has somebody to be sent to, whoever is not has nobody', () =>
    forAllPorts(({ internal, external, backends, hasEndpoints, isExternallyAccessible }) => {
      assert.equal(internal.verdict === 'balance', backends[internal.over].length > 0);
      if (isExternallyAccessible) assert.equal(external.verdict === 'balance', backends[external.over].length > 0);
      assert.equal(hasEndpoints, internal.verdict !== 'reject');
    }));
});

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function inOrder({ services }: NodeModel): unknown {
  return [...services].sort(([a], [b]) => (a < b ? -1 : 1));
}
