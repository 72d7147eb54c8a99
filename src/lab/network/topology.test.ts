import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostLines, linesByHost, linkLines, ruleLines, type Topology } from './topology.ts';

const topology: Topology = {
  hosts: [{ name: 'a', rules: ['iif eth0 lookup 100'] }, { name: 'b' }],
  links: [
    [
      {
        host: 'a',
        device: 'eth0',
        addresses: ['192.0.2.1/32', 'fd00::1/128'],
        routes: ['default via 192.0.2.2 onlink'],
      },
      { host: 'b', device: 'to-a', routes: ['192.0.2.1/32', 'local 198.51.100.0/24 dev lo'] },
    ],
    [
      { host: 'old', device: 'to-b' },
      { host: 'b', device: 'eth0' },
    ],
  ],
};

test('hosts are made before the cables between them', () => {
  assert.deepEqual(hostLines(topology), ['netns add a', 'netns add b']);
  assert.deepEqual(linkLines(topology), [
    'link add eth0 netns a type veth peer name to-a netns b',
    'link add to-b netns old type veth peer name eth0 netns b',
  ]);
});

test('in each host, also in one that was there, cables are up and addressed before routes lead through them', () => {
  assert.deepEqual(Object.fromEntries(linesByHost(topology)), {
    a: [
      'link set lo up',
      'link set eth0 up',
      'addr add 192.0.2.1/32 dev eth0',
      'addr add fd00::1/128 dev eth0 nodad',
      'route add default via 192.0.2.2 onlink dev eth0',
    ],
    b: [
      'link set lo up',
      'link set to-a up',
      'link set eth0 up',
      'route add 192.0.2.1/32 dev to-a',
      'route add local 198.51.100.0/24 dev lo',
    ],
    old: ['link set to-b up'],
  });
  assert.deepEqual(topology.hosts.flatMap(ruleLines), ['rule add iif eth0 lookup 100']);
});
