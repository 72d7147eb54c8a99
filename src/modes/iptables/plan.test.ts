import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Manifest } from '../../../test/support/golden.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { modelOf, serviceText, workedExample } from '../../../test/support/worked.ts';
import { type IptablesPlan, plan, type RuleCounts } from './plan.ts';

const { facts } = workedExample('clusterip-and-no-endpoints');

describe('how many rules there are', () => {
  const EXTERNAL = {
    type: 'LoadBalancer',
    externalIPs: ['198.51.100.1'],
    loadBalancerSourceRanges: ['203.0.113.0/24'],
    ports: [{ name: 'http', port: 80, nodePort: 30080 }],
  };
  const STATUS = { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } };

  test('without services: 4 and 5', () => assertCounts([], { filter: 4, nat: 5 }));
  for (const services of [1, 3]) {
    for (const endpoints of [0, 1, 4]) {
      test(`with ${services} cluster IPs of ${endpoints} endpoints`, () =>
        assertCounts(
          cluster(services, endpoints, (name) => serviceManifest(name)),
          endpoints === 0 ? { filter: 4 + services, nat: 5 } : { filter: 4, nat: 5 + services * (2 + 3 * endpoints) },
        ));
      test(`with ${services} load balancers of ${endpoints} endpoints`, () =>
        assertCounts(
          cluster(services, endpoints, (name) => serviceManifest(name, EXTERNAL, STATUS)),
          endpoints === 0
            ? { filter: 4 + 4 * services, nat: 5 }
            : { filter: 4 + services, nat: 5 + services * (10 + 3 * endpoints) },
        ));
    }
  }

  /** By the formula, and by the lines of the text. */
  function assertCounts(manifests: readonly Manifest[], expected: RuleCounts): void {
    const planned = plan(modelOf(manifests), facts);
    assert.deepEqual(planned.ruleCounts, expected);
    const [filter, nat] = serviceText(planned).split('*nat');
    const rules = (text: string): number => text.split('\n').filter((line) => line.startsWith('-A')).length;
    assert.deepEqual({ filter: rules(filter!), nat: rules(nat!) }, expected);
  }
});

describe('the probability of an endpoint', () => {
  const MOST = 5000;
  const probabilities = ((): ReadonlyMap<number, string> => {
    const endpoints = Array.from({ length: MOST }, (_, i) => ({ addresses: [`10.66.${i >> 8}.${i & 255}`] }));
    const text = serviceText(
      plan(modelOf([serviceManifest('shop/cart'), sliceManifest('shop/cart', endpoints)]), facts),
    );
    const found = text.match(/(?<=--probability )\S+/g) ?? [];
    return new Map(found.map((probability, i) => [MOST - i, probability]));
  })();

  test(`is 1/k in ten decimals, rounded as the exact value of the double demands, for all k up to ${MOST}`, () => {
    assert.equal(probabilities.size, MOST - 1);
    for (const [k, probability] of probabilities) assert.equal(probability, exactDecimals(1 / k), `1/${k}`);
  });

  test('breaks the tie of 1/2048 to the even digit', () => {
    assert.equal(probabilities.get(2048), '0.0004882812');
    assert.equal(probabilities.get(7), '0.1428571429');
  });

  /** Ten decimals of a double below 1, ties to even, with whole numbers alone. */
  function exactDecimals(value: number): string {
    const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!;
    const numerator = ((bits & 0xfffffffffffffn) | (1n << 52n)) * 10n ** 10n;
    const shift = 1075n - ((bits >> 52n) & 0x7ffn);
    const floor = numerator >> shift;
    const rest = numerator - (floor << shift);
    const half = 1n << (shift - 1n);
    const rounded = rest > half || (rest === half && (floor & 1n) === 1n) ? floor + 1n : floor;
    return `0.${rounded.toString().padStart(10, '0')}`;
  }
});

describe('planning after a plan', () => {
  test('keeps the parts of services that did not change', () => {
    const manifests = cluster(3, 2, (name) => serviceManifest(name));
    const first = plan(modelOf(manifests), facts);
    const kept = new Map(first.services);
    const model = { ...modelOf(manifests), changed: new Set(['shop/s1']), isFresh: false };
    const second = plan(model, facts, first);
    assert.equal(second.services.get('shop/s0'), kept.get('shop/s0'));
    assert.notEqual(second.services.get('shop/s1'), kept.get('shop/s1'));
    assert.deepEqual([...second.replaced], [['shop/s1', kept.get('shop/s1')]]);
  });

  test('plans every service anew when the facts they depend on are others', () => {
    const { second } = replanned({ masqueradeAll: true });
    assert.deepEqual([...second.replaced.keys()], ['shop/s0', 'shop/s1', 'shop/s2']);
    assert.equal(second.replacedFixed, undefined);
  });

  test('plans only the fixed part anew when the node-port addresses are others', () => {
    const { first, second } = replanned({ nodePortAddresses: { kind: 'some', ips: ['172.20.5.7'] } });
    assert.equal(second.replaced.size, 0);
    assert.equal(second.replacedFixed, first.fixed);
    assert.notDeepEqual(second.fixed.natTail, first.fixed.natTail);
  });

  test('counts the rules of what is there now', () => {
    const { first, second } = replanned({ nodePortAddresses: { kind: 'some', ips: [] } });
    assert.equal(second.ruleCounts.nat, first.ruleCounts.nat - 1);
  });

  function replanned(changed: Partial<typeof facts>): { readonly first: IptablesPlan; readonly second: IptablesPlan } {
    const model = modelOf(cluster(3, 2, (name) => serviceManifest(name)));
    const first = plan(model, facts);
    return { first, second: plan({ ...model, changed: new Set(), isFresh: false }, { ...facts, ...changed }, first) };
  }
});

function cluster(services: number, endpoints: number, manifest: (name: string) => Manifest): readonly Manifest[] {
  return Array.from({ length: services }, (_, i) => [
    manifest(`shop/s${i}`),
    sliceManifest(
      `shop/s${i}`,
      Array.from({ length: endpoints }, (_, j) => ({ addresses: [`10.66.${i}.${j + 1}`] })),
    ),
  ]).flat();
}
