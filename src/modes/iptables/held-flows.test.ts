import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heldFlowTargets } from './held-flows.ts';

test('rules that stand tell where UDP flows were led, and to whom', () => {
  const serving = new Set(['10.244.1.12:8080', '[fd00::7]:53']);
  const save = [
    '*nat',
    '-A KUBE-NODEPORTS -p udp -m comment --comment "test/dns:p" -m udp --dport 30053 -j KUBE-EXT-AAAAAAAAAAAAAAAA',
    '-A KUBE-SERVICES -d 10.96.2.2/32 -p udp -m comment --comment "test/dns:p cluster IP" -m udp --dport 80 -j KUBE-SVC-AAAAAAAAAAAAAAAA',
    '-A KUBE-SERVICES -d fd00:10:96::2/128 -p udp -m comment --comment "test/dns:p cluster IP" -m udp --dport 53 -j KUBE-SVC-AAAAAAAAAAAAAAAB',
    '-A KUBE-SERVICES -d 10.96.2.1/32 -p tcp -m comment --comment "test/web:p cluster IP" -m tcp --dport 80 -j KUBE-SVC-BBBBBBBBBBBBBBBB',
    '-A KUBE-SEP-AAAAAAAAAAAAAAAA -p udp -m comment --comment "test/dns:p" -m udp -j DNAT --to-destination 10.244.1.12:8080',
    '-A KUBE-SEP-AAAAAAAAAAAAAAAB -p udp -m udp -j DNAT --to-destination [fd00::7]:53',
    '-A KUBE-SEP-BBBBBBBBBBBBBBBB -p tcp -m tcp -j DNAT --to-destination 10.244.1.11:8080',
    '-A PREROUTING -p udp -m udp --dport 99 -j DNAT --to-destination 192.0.2.1:99',
    'COMMIT',
  ].join('\n');
  assert.deepEqual(heldFlowTargets(save), [
    { ip: undefined, port: 30053, serving },
    { ip: '10.96.2.2', port: 80, serving },
    { ip: 'fd00:10:96::2', port: 53, serving },
  ]);
  assert.deepEqual(heldFlowTargets(''), []);
});
