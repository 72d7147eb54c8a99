import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { GOLDEN_NODES } from '../../../test/support/golden.ts';
import { defaultFacts } from '../../../test/support/iptables-node.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { nftablesFacts } from '../../../test/support/nftables-node.ts';
import { nftablesVerifyInput, verifyInput } from '../../../test/support/verify.ts';
import { verify } from './verify.ts';

const rivals = (): TestCluster =>
  new TestCluster().apply(
    ...GOLDEN_NODES,
    serviceManifest('demo/first', { clusterIP: '10.96.2.1', externalIPs: ['198.51.100.20'] }),
    sliceManifest('demo/first', [{ addresses: ['10.244.1.11'], nodeName: 'n1' }]),
    serviceManifest('demo/second', { clusterIP: '10.96.2.2', externalIPs: ['198.51.100.20'] }),
    sliceManifest('demo/second', [{ addresses: ['10.244.2.11'], nodeName: 'n2' }]),
  );

for (const [mode, input] of [
  ['iptables', verifyInput(rivals().tracker, defaultFacts('IPv4'), undefined)],
  ['nftables', nftablesVerifyInput(rivals().tracker, nftablesFacts('IPv4'), undefined)],
] as const) {
  test(`of two Services with one address the second is told who has it: ${mode} mode`, () => {
    const { mismatches } = verify(input);
    assert.ok(mismatches.length > 0);
    for (const { service, frontend, cause } of mismatches) {
      assert.equal(service, 'demo/second:http');
      assert.equal(frontend, 'external-ip 198.51.100.20:80/tcp');
      assert.deepEqual(cause, { kind: 'contested-address', service: 'demo/first:http' });
    }
  });
}
