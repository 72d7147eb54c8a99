import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frontend, NodeModel, ServiceModel } from '../model/model.ts';
import { CheckTurns, type Finding, partOf } from './self-check-turns.ts';

const SIZE = { services: 2, endpoints: 100 };

function service(name: string, endpointCount = 1, ...frontends: readonly Frontend[]): ServiceModel {
  const ports = [{ displayName: `shop/${name}`, protocol: 'TCP', frontends }];
  return { namespace: 'shop', name, endpointCount, ports } as unknown as ServiceModel;
}

function modelOf(...services: readonly ServiceModel[]): NodeModel {
  const byName = new Map(services.map((one) => [`shop/${one.name}`, one]));
  return { family: 'IPv4', services: byName, endpointCount: 4711, healthChecked: byName } as unknown as NodeModel;
}

function names(...letters: readonly string[]): string[] {
  return letters.map((letter) => `shop/${letter}`);
}

function finding(letter: string, mismatches = 1): Finding {
  return { service: `shop/${letter}`, mismatches, first: `shop/${letter}: is wrong` };
}

/** Takes turns in which nothing is wrong, but for those that are named. */
function walk(turns: CheckTurns, model: NodeModel, count: number, wrong: readonly string[] = []): string[][] {
  return Array.from({ length: count }, () => {
    const turn = turns.next(model, SIZE);
    const found = wrong.filter((letter) => turn.has(`shop/${letter}`)).map((letter) => finding(letter));
    turns.note(model, turn, found);
    return [...turn];
  });
}

test('Services take turns by name, and when all had theirs a new round begins', () => {
  const model = modelOf(...['e', 'c', 'a', 'd', 'b'].map((name) => service(name)));
  assert.deepEqual(walk(new CheckTurns(), model, 4), [names('a', 'b'), names('c', 'd'), names('e'), names('a', 'b')]);
});

test('a cluster that is small enough is checked wholly each time', () => {
  assert.deepEqual(walk(new CheckTurns(), modelOf(service('a'), service('b')), 2), [names('a', 'b'), names('a', 'b')]);
});

test('Services that are gone lose their turn, and new ones wait for the next round', () => {
  const turns = new CheckTurns();
  walk(turns, modelOf(...['a', 'b', 'c', 'd', 'e'].map((name) => service(name))), 1);
  const later = modelOf(...['a', 'aa', 'd', 'e', 'f'].map((name) => service(name)));
  assert.deepEqual(walk(turns, later, 3), [names('d', 'e'), names('a', 'aa'), names('d', 'e')]);
});

test('endpoints count too, but the largest Service still has its turn', () => {
  const model = modelOf(service('a', 60), service('b', 60), service('c', 1000), service('d', 1), service('e', 99));
  assert.deepEqual(walk(new CheckTurns(), model, 3), [names('a', 'b'), names('c'), names('d', 'e')]);
});

test('one that is wrong is asked again each time, and what is known of it stays until it is right', () => {
  const turns = new CheckTurns();
  const model = modelOf(...['a', 'b', 'c', 'd', 'e'].map((name) => service(name)));
  assert.deepEqual(walk(turns, model, 3, ['b']), [names('a', 'b'), names('b', 'c'), names('b', 'd')]);
  assert.deepEqual(turns.findings, [finding('b')]);
  assert.deepEqual(walk(turns, model, 2), [names('b', 'e'), names('a', 'b')]);
  assert.deepEqual(turns.findings, []);
});

test('where everything is wrong the round still goes on', () => {
  const turns = new CheckTurns();
  const all = ['a', 'b', 'c', 'd', 'e'];
  const model = modelOf(...all.map((name) => service(name)));
  const asked = walk(turns, model, 4, all);
  assert.deepEqual(new Set(asked.flat()), new Set(names(...all)));
  assert.equal(turns.findings.length, 5);
});

test('once one is right again, what is known of the others may be out of date, until all were asked', () => {
  const turns = new CheckTurns();
  const model = modelOf(...['a', 'b', 'c', 'd'].map((name) => service(name)));
  const note = (asked: string, ...wrong: readonly string[]): boolean =>
    turns.note(
      model,
      new Set(names(...asked)),
      wrong.map((letter) => finding(letter)),
    );
  assert.equal(note('ab', 'a', 'b'), false);
  assert.equal(note('bc', 'b', 'c'), false);
  assert.equal(note('ad'), true);
  assert.equal(note('bc'), false);
});

test('what was wrong with a Service that is gone is forgotten', () => {
  const turns = new CheckTurns();
  const model = modelOf(service('a'), service('b'), service('c'));
  walk(turns, model, 1, ['a']);
  walk(turns, modelOf(service('b'), service('c')), 1);
  assert.deepEqual(turns.findings, []);
});

test('a part of a model has some Services, and still counts the whole cluster’s endpoints', () => {
  const part = partOf(modelOf(service('a'), service('b')), new Set(names('b', 'gone')));
  assert.deepEqual([...part.services.keys()], names('b'));
  assert.equal(part.endpointCount, 4711);
  assert.equal(part.healthChecked.size, 0);
});

test('an address that two Services claim is not asked, whether both are in the part or one', () => {
  const shared = { kind: 'external-ip', ip: '198.51.100.1', port: 80 } as const;
  const own = { kind: 'external-ip', ip: '198.51.100.1', port: 81 } as const;
  const model = modelOf(service('a', 1, shared, own), service('b', 1, shared), service('c', 1, own));
  const asked = (...letters: readonly string[]) =>
    [...partOf(model, new Set(names(...letters))).services.values()].map(({ ports }) => ports[0]!.frontends);
  assert.deepEqual(asked('b'), [[]]);
  assert.deepEqual(asked('a', 'b'), [[], []]);
  assert.deepEqual(
    [...partOf(modelOf(service('a', 1, shared, shared)), new Set(names('a'))).services.values()].map(
      ({ ports }) => ports[0]!.frontends,
    ),
    [[shared, shared]],
  );
});
