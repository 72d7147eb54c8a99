import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldChains, removalLines } from './chains.ts';
import { ownership } from './diff.ts';

const SAVED = `*nat
:OUTPUT ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-SVC-OTHER - [0:0]
:OTHERS - [0:0]
-A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A KUBE-SERVICES -j KUBE-MARK-MASQ
-A KUBE-SVC-OTHER -j KUBE-MARK-MASQ
COMMIT
`;

test('chains and jumps of ours are removed, and a chain that others lead to is only emptied', () => {
  assert.deepEqual(removalLines(heldChains(SAVED)), [
    '*nat',
    ':KUBE-SERVICES - [0:0]',
    ':KUBE-MARK-MASQ - [0:0]',
    '-D OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
    '-X KUBE-SERVICES',
    'COMMIT',
  ]);
});

test('where nothing of ours is, nothing is done', () => {
  assert.deepEqual(removalLines(heldChains('*nat\n:OTHERS - [0:0]\nCOMMIT\n')), []);
});

test('a virtual server is ours if its address is on our device or a set of ours names it', () => {
  const isOurs = ownership({
    addresses: ['10.96.0.1'],
    sets: new Map([
      ['EXTERNAL-IP', [{ ip: '192.0.2.10', protocol: 'TCP', port: 8080 }]],
      ['NODE-PORT-UDP', [{ port: 30053 }]],
    ]),
  });
  assert.equal(isOurs({ protocol: 'TCP', ip: '10.96.0.1', port: 1 }), true);
  assert.equal(isOurs({ protocol: 'TCP', ip: '192.0.2.10', port: 8080 }), true);
  assert.equal(isOurs({ protocol: 'UDP', ip: '192.0.2.10', port: 30053 }), true);
  assert.equal(isOurs({ protocol: 'TCP', ip: '192.0.2.10', port: 30053 }), false);
  assert.equal(isOurs({ protocol: 'TCP', ip: '192.0.2.10', port: 80 }), false);
});
