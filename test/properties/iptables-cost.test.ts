// The cost of a change follows the size of the change. Not measured but counted: which objects are looked at, and how large
// the collections are that are walked.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndpointSlice } from '../../src/api/objects.ts';
import { parseEndpointSlice, parseService } from '../../src/api/parse.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { diff } from '../../src/modes/iptables/diff.ts';
import { type IptablesPlan, plan } from '../../src/modes/iptables/plan.ts';
import { Tracker } from '../../src/track/tracker.ts';
import { defaultFacts } from '../support/iptables-node.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { WORKER_7 } from '../support/worked.ts';

const SERVICES = 2000;
const CHANGED = 'shop/s1000';
const facts = defaultFacts('IPv4');

describe(`with ${SERVICES} services, one endpoint that changes`, () => {
  const seen = new Set<string>();
  const walked: number[] = [];
  const tracker = new Tracker();
  for (let i = 0; i < SERVICES; i++) {
    const name = `shop/s${i}`;
    const spec = { clusterIP: `10.96.${i >> 8}.${i & 255}` };
    tracker.setService(name, watched(parseService(serviceManifest(name, spec)).value!, name, seen));
    tracker.setSlice(`${name}-1`, watched(sliceOf(name, i, 1), name, seen));
  }
  const model = withWatchedParts(resolveNode(tracker.take('IPv4'), WORKER_7), 'services', seen);
  const first = withWatchedParts(plan(model, facts), 'services', seen);

  seen.clear();
  const stopCounting = countWalks(walked);
  tracker.setSlice(`${CHANGED}-1`, sliceOf(CHANGED, 1000, 3));
  const nextModel = resolveNode(tracker.take('IPv4'), WORKER_7, model);
  const next: IptablesPlan = plan(nextModel, facts, first);
  const change = diff(first, next);
  stopCounting();

  test('leads to no look at any other service, in any stage', () => assert.deepEqual([...seen], [CHANGED]));

  test('walks no collection that grows with the cluster', () => {
    assert.ok(walked.length > 0, 'walks are counted at all');
    assert.ok(Math.max(...walked) < 50, `walked ${Math.max(...walked)} entries`);
  });

  test('writes the chains that differ and nothing else', () => {
    const names = new Set(change.lines.join('\n').match(/shop\/s\d+/g));
    assert.deepEqual([...names], [CHANGED]);
    assert.deepEqual(
      change.lines.map((line) => line.split(' ')[0]!.replace(/KUBE-(\w+)-.*/, '$1')),
      ['*nat', ':SVC', ':SEP', ':SEP', '-A', '-A', '-A', '-A', '-A', '-A', '-A', '-A', 'COMMIT'],
    );
  });
});

/** Says into `seen` when anything is read from it. */
function watched<T extends object>(value: T, name: string, seen: Set<string>): T {
  return new Proxy(value, {
    get(target, key, receiver) {
      seen.add(name);
      return Reflect.get(target, key, receiver) as unknown;
    },
    ownKeys(target) {
      seen.add(name);
      return Reflect.ownKeys(target);
    },
  });
}

function withWatchedParts<T extends NodeModel | IptablesPlan>(value: T, key: 'services', seen: Set<string>): T {
  const parts = [...(value[key] as ReadonlyMap<string, object>)];
  return { ...value, [key]: new Map(parts.map(([name, part]) => [name, watched(part, name, seen)])) };
}

/** Notes the size of every Map and Set that is walked, until the returned function is called. */
function countWalks(sizes: number[]): () => void {
  const restores = [Map.prototype, Set.prototype].flatMap((prototype) =>
    (['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const).map((method) => {
      const original = Object.getOwnPropertyDescriptor(prototype, method)!;
      Object.defineProperty(prototype, method, {
        ...original,
        value(this: { readonly size: number }, ...args: unknown[]) {
          sizes.push(this.size);
          return (original.value as (...args: unknown[]) => unknown).apply(this, args);
        },
      });
      return () => Object.defineProperty(prototype, method, original);
    }),
  );
  return () => {
    for (const restore of restores) restore();
  };
}

function sliceOf(name: string, number: number, endpoints: number): EndpointSlice {
  const addresses = Array.from({ length: endpoints }, (_, i) => ({
    addresses: [`10.${i}.${number >> 8}.${number & 255}`],
  }));
  return parseEndpointSlice(sliceManifest(name, addresses)).value!;
}
