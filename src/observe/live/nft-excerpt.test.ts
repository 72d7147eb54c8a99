import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedSets } from '../../modes/nftables/sets.ts';
import type { Concern } from './concern.ts';
import { rowTest } from './nft-excerpt.ts';

const CONCERN: Concern = {
  ips: new Set(['10.96.0.1', '10.244.1.1']),
  ports: new Set([80, 8080, 30080]),
  nodePorts: new Set([30080]),
};
const SETS = fixedSets({ family: 'IPv4', hasCounters: false, hasNodePortIps: true });

function isRead(set: string, key: string): boolean {
  return rowTest(SETS.find(({ name }) => name === set)!, CONCERN)({ key });
}

const READ: readonly (readonly [set: string, key: string, isRead: boolean])[] = [
  ['service-ips', '10.96.0.1 . tcp . 80', true],
  ['service-ips', '10.96.0.1 . tcp . 443', true],
  ['service-ips', '10.96.0.2 . tcp . 80', false],
  ['service-ips', '192.0.2.1 . tcp . 30080', true], // perhaps an address of the node
  ['service-nodeports', 'tcp . 30080', true],
  ['service-nodeports', 'tcp . 31000', false],
  ['endpoints-tcp', '10.96.0.1 . 80 . 7', true],
  ['endpoints-tcp', '10.96.0.2 . 80 . 7', false],
  ['nodeport-endpoints-udp', '30080 . 7', true],
  ['nodeport-endpoints-udp', '31000 . 7', false],
  ['learn-ips', '10.96.0.1 . tcp . 80 . 10.244.9.9 . 8080', true],
  ['learn-ips', '10.96.0.2 . tcp . 80 . 10.244.1.1 . 8080', false],
  ['learn-nodeports', 'tcp . 31000 . 10.244.1.1 . 8080', false],
  ['hairpin-connections', '10.244.1.1 . 10.244.1.1 . tcp . 8080', true],
  ['hairpin-connections', '10.244.1.2 . 10.244.1.2 . tcp . 8080', false],
  ['cluster-ips', '10.96.0.1', true],
  ['cluster-ips', '10.96.0.2', false],
  ['nodeport-ips', '192.0.2.1', true],
];

test('of rows, those are read that packets to the Services in question can find', () => {
  for (const [set, key, expected] of READ) assert.equal(isRead(set, key), expected, `${set} ${key}`);
});

test('sets of others are read whole', () => {
  assert.ok(rowTest({ name: 'mine', key: ['ipv4_addr', 'inet_service'] }, CONCERN)({ key: '10.96.0.2 . 443' }));
});
