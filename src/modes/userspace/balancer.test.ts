import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Balancer } from './balancer.ts';
import type { RelayBackend } from './plan.ts';

const [A, B, C] = ['10.44.1.5', '10.44.2.8', '10.44.1.9'].map(
  (ip): RelayBackend => ({ ip, port: 8080, address: `${ip}:8080` }),
) as [RelayBackend, RelayBackend, RelayBackend];

/** Nothing is shuffled, and time passes when it is told to. */
function balancer(backends: readonly RelayBackend[], affinityTimeoutSeconds = 0) {
  const clock = { seconds: 0 };
  const made = new Balancer({ now: () => clock.seconds * 1000, random: () => 0.999 });
  made.set(backends, affinityTimeoutSeconds);
  return { made, clock };
}

test('backends take turns', () => {
  const { made } = balancer([A, B, C]);
  const turns = Array.from({ length: 6 }, () => made.choose('10.44.3.3'));
  assert.deepEqual(turns, [A, B, C, A, B, C]);
});

test('without backends there is nobody to choose', () => {
  assert.equal(balancer([]).made.choose('10.44.3.3'), undefined);
});

test('a client stays for as long as it comes back in time', () => {
  const { made, clock } = balancer([A, B, C], 60);
  assert.equal(made.choose('a'), A);
  assert.equal(made.choose('b'), B);
  clock.seconds = 50;
  assert.equal(made.choose('a'), A, 'this visit starts its time anew');
  clock.seconds = 109;
  assert.equal(made.choose('a'), A);
  clock.seconds = 169;
  assert.equal(made.choose('a'), C, 'away for 60 seconds');
});

test('a backend that does not answer loses its client', () => {
  const { made } = balancer([A, B], 60);
  assert.equal(made.choose('a'), A);
  assert.equal(made.choose('a', new Set([A.address])), B);
  assert.equal(made.choose('a'), B);
});

test('one that failed is passed over while there are others, wherever the turn is', () => {
  const { made } = balancer([A, B]);
  made.choose('someone else');
  made.choose('someone else');
  assert.equal(made.choose('a', new Set([A.address])), B);
  assert.equal(made.choose('a', new Set([A.address, B.address])), A, 'when all have failed, any may have recovered');
});

test('a backend that goes takes the loyalty of its clients with it, and only theirs', () => {
  const { made } = balancer([A, B], 60);
  made.choose('a');
  made.choose('b');
  made.set([B, C], 60);
  assert.equal(made.choose('b'), B);
  assert.equal(made.loyalClients, 1);
  assert.equal(made.choose('a'), B, 'the turn begins anew');
});

test('the same backends in another order change nothing', () => {
  const { made } = balancer([A, B, C]);
  made.choose('a');
  made.set([C, B, A], 0);
  assert.equal(made.choose('a'), B);
});

test('clients that stayed away are forgotten', () => {
  const { made, clock } = balancer([A], 60);
  made.choose('a');
  clock.seconds = 60;
  made.expire();
  assert.equal(made.loyalClients, 0);
});

test('relays of many nodes begin with different backends', () => {
  const first = (random: number): RelayBackend | undefined => {
    const made = new Balancer({ now: () => 0, random: () => random });
    made.set([A, B, C], 0);
    return made.choose('a');
  };
  assert.notEqual(first(0), first(0.999));
});
