import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localDetector } from './local-detector.ts';

const DETECT = {
  bridgeInterface: 'br0',
  interfaceNamePrefix: 'cali',
  clusterCIDRs: ['FD66::9/48', '10.66.1.1/16', '10.67.0.0/16'],
};

test('the first cluster network of the family detects pods', () => {
  assert.deepEqual(localDetector('ClusterCIDR', DETECT, [], 'IPv4'), { kind: 'source', cidr: '10.66.0.0/16' });
  assert.deepEqual(localDetector('ClusterCIDR', DETECT, [], 'IPv6'), { kind: 'source', cidr: 'fd66::/48' });
});

test("the first of the node's own networks does in mode NodeCIDR", () =>
  assert.deepEqual(localDetector('NodeCIDR', DETECT, ['10.66.7.0/24'], 'IPv4'), {
    kind: 'source',
    cidr: '10.66.7.0/24',
  }));

test('a family without a network has no detector', () => {
  assert.deepEqual(localDetector('NodeCIDR', DETECT, ['10.66.7.0/24'], 'IPv6'), { kind: 'none' });
  assert.deepEqual(localDetector('ClusterCIDR', { ...DETECT, clusterCIDRs: [] }, [], 'IPv4'), { kind: 'none' });
});

test('interfaces detect pods of both families', () => {
  assert.deepEqual(localDetector('BridgeInterface', DETECT, [], 'IPv6'), { kind: 'interface', name: 'br0' });
  assert.deepEqual(localDetector('InterfaceNamePrefix', DETECT, [], 'IPv4'), {
    kind: 'interface-prefix',
    prefix: 'cali',
  });
});
