import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serviceManifest, sliceManifest } from '../../test/support/manifests.ts';
import type { EndpointSlice, Node, Service } from '../api/objects.ts';
import { parseEndpointSlice, parseNode, parseService } from '../api/parse.ts';
import { Tracker } from './tracker.ts';

const NOON = Date.parse('2026-01-01T12:00:00Z');

describe('a reader of the tracker', () => {
  test('finds the first snapshot fresh, and the next one not', () => {
    const tracker = new Tracker();
    assert.equal(tracker.needsSync('IPv4'), true);
    assert.equal(tracker.take('IPv4').isFresh, true);
    assert.equal(tracker.take('IPv4').isFresh, false);
    assert.equal(tracker.needsSync('IPv4'), false);
  });

  test('is told of each change once, and other readers still are', () => {
    const tracker = settled();
    tracker.setService('shop/cart', service());
    assert.deepEqual([...tracker.take('IPv4').changed], ['shop/cart']);
    assert.deepEqual([...tracker.take('IPv4').changed], []);
    assert.deepEqual([...tracker.take('IPv6').changed], ['shop/cart']);
  });

  test('hears of slices of its own family alone', () => {
    const tracker = settled();
    tracker.setSlice('shop/cart-1', slice());
    assert.equal(tracker.needsSync('IPv6'), false);
    assert.deepEqual([...tracker.take('IPv4').changed], ['shop/cart']);
  });
});

describe('a Service', () => {
  test('that is repeated as it is makes no sync', () => {
    const tracker = settled(service());
    tracker.setService('shop/cart', service());
    assert.equal(tracker.needsSync('IPv4'), false);
  });

  test('whose edit is taken back before the sync makes none', () => {
    const tracker = settled(service());
    tracker.setService('shop/cart', service({ clusterIP: '10.99.0.99' }));
    assert.deepEqual(tracker.pending('IPv4'), { services: 1, slices: 0 });
    tracker.setService('shop/cart', service());
    assert.deepEqual(tracker.pending('IPv4'), { services: 0, slices: 0 });
    assert.equal(tracker.needsSync('IPv4'), false);
  });

  test('that comes and goes between syncs makes none', () => {
    const tracker = settled();
    tracker.setService('shop/cart', service());
    tracker.setService('shop/cart', undefined);
    assert.equal(tracker.needsSync('IPv4'), false);
  });

  test('that is deleted is gone from the snapshot, and named in it', () => {
    const tracker = settled(service());
    tracker.setService('shop/cart', undefined);
    const snapshot = tracker.take('IPv4');
    assert.equal(snapshot.services.size, 0);
    assert.deepEqual([...snapshot.changed], ['shop/cart']);
  });

  test('edited twice is compared with what the last snapshot showed', () => {
    const tracker = settled(service());
    tracker.setService('shop/cart', service({ clusterIP: '10.99.0.99' }));
    tracker.take('IPv4');
    tracker.setService('shop/cart', service());
    assert.deepEqual([...tracker.take('IPv4').changed], ['shop/cart']);
    assert.equal(tracker.needsSync('IPv6'), false, 'the other reader saw neither');
  });
});

describe('an EndpointSlice', () => {
  test('that is repeated as it is makes no sync; a new version does', () => {
    const tracker = settled(undefined, slice({}, { resourceVersion: '1' }));
    tracker.setSlice('shop/cart-1', slice({}, { resourceVersion: '1' }));
    assert.equal(tracker.needsSync('IPv4'), false);
    tracker.setSlice('shop/cart-1', slice({}, { resourceVersion: '2' }));
    assert.equal(tracker.needsSync('IPv4'), true);
  });

  test('counts as one pending change for each event', () => {
    const tracker = settled(undefined, slice());
    tracker.setSlice('shop/cart-1', slice({}, { resourceVersion: '2' }));
    tracker.setSlice('shop/cart-1', slice({}, { resourceVersion: '3' }));
    assert.equal(tracker.pending('IPv4').slices, 2);
    tracker.setSlice('shop/cart-1', undefined);
    assert.equal(tracker.pending('IPv4').slices, 3);
    tracker.take('IPv4');
    assert.equal(tracker.pending('IPv4').slices, 0);
  });

  test('that was never seen can be deleted', () => {
    const tracker = settled();
    tracker.setSlice('shop/nobody', undefined);
    assert.equal(tracker.needsSync('IPv4'), false);
  });

  test('moved to another Service leaves the one before', () => {
    const tracker = settled(undefined, slice());
    tracker.setSlice('shop/cart-1', slice({}, { labels: { 'kubernetes.io/service-name': 'menu' } }));
    const snapshot = tracker.take('IPv4');
    assert.deepEqual([...snapshot.changed].sort(), ['shop/cart', 'shop/menu']);
    assert.deepEqual([...snapshot.slices.keys()], ['shop/menu']);
  });

  test('made anew in the other family is told to both readers', () => {
    const tracker = settled(undefined, slice());
    tracker.setSlice('shop/cart-1', slice({ addressType: 'IPv6', endpoints: [] }));
    assert.deepEqual([...tracker.take('IPv4').changed], ['shop/cart']);
    assert.deepEqual([...tracker.take('IPv6').changed], ['shop/cart']);
  });
});

describe('trigger times', () => {
  const at = (minute: number, name = 'cart-1'): EndpointSlice =>
    slice(
      {},
      {
        name,
        annotations: {
          'endpoints.kubernetes.io/last-change-trigger-time': new Date(NOON + minute * 60_000).toISOString(),
        },
      },
    );

  test('of all changes of a service are kept until the snapshot is taken', () => {
    const tracker = settled();
    tracker.setSlice('shop/cart-1', at(1));
    tracker.setSlice('shop/cart-2', at(2, 'cart-2'));
    tracker.setSlice('shop/cart-1', at(3));
    assert.deepEqual(
      tracker.take('IPv4').triggerTimes,
      [1, 2, 3].map((minute) => NOON + minute * 60_000),
    );
    assert.deepEqual(tracker.take('IPv4').triggerTimes, []);
  });

  test('of a service are forgotten when a slice of it goes', () => {
    const tracker = settled(undefined, at(0));
    tracker.setSlice('shop/cart-2', at(2, 'cart-2'));
    tracker.setSlice('shop/cart-1', undefined);
    assert.deepEqual(tracker.take('IPv4').triggerTimes, []);
  });

  test('of a slice that is repeated are not counted again', () => {
    const tracker = settled(undefined, at(0));
    tracker.setSlice('shop/cart-1', at(0));
    assert.deepEqual(tracker.take('IPv4').triggerTimes, []);
  });
});

describe('the Node', () => {
  test('makes everything fresh when its zone changes, and only then', () => {
    const tracker = settled();
    tracker.setNode(node('a'));
    assert.equal(tracker.take('IPv4').isFresh, true);
    tracker.setNode({ ...node('a'), taintKeys: ['x'] });
    assert.equal(tracker.needsSync('IPv4'), false);
    tracker.setNode(node('b'));
    assert.equal(tracker.take('IPv6').isFresh, true);
  });

  test('without a zone changes nothing', () => {
    const tracker = settled();
    tracker.setNode(node(''));
    assert.equal(tracker.needsSync('IPv4'), false);
  });
});

test('service networks of the reader family come with the snapshot, sorted', () => {
  const tracker = settled();
  tracker.setServiceCIDR('b', { name: 'b', cidrs: ['10.96.0.0/12', 'fd00::/112'] });
  tracker.setServiceCIDR('a', { name: 'a', cidrs: ['10.100.0.0/16'] });
  assert.equal(tracker.needsSync('IPv6'), true);
  assert.deepEqual(tracker.take('IPv4').serviceCIDRs, ['10.100.0.0/16', '10.96.0.0/12']);
  assert.deepEqual(tracker.take('IPv6').serviceCIDRs, ['fd00::/112']);
  tracker.setServiceCIDR('a', { name: 'a', cidrs: ['10.100.0.0/16'] });
  assert.equal(tracker.needsSync('IPv4'), false);
  tracker.setServiceCIDR('a', undefined);
  assert.deepEqual(tracker.take('IPv4').serviceCIDRs, ['10.96.0.0/12']);
});

test('names of everything held can be listed', () => {
  const tracker = settled(service(), slice());
  tracker.setServiceCIDR('c', { name: 'c', cidrs: [] });
  assert.deepEqual(
    [[...tracker.serviceNames()], [...tracker.sliceNames()], [...tracker.serviceCIDRNames()]],
    [['shop/cart'], ['shop/cart-1'], ['c']],
  );
});

/** A tracker whose readers have seen everything. */
function settled(cart?: Service, cartSlice?: EndpointSlice): Tracker {
  const tracker = new Tracker();
  if (cart) tracker.setService('shop/cart', cart);
  if (cartSlice) tracker.setSlice('shop/cart-1', cartSlice);
  tracker.take('IPv4');
  tracker.take('IPv6');
  return tracker;
}

function service(spec: Readonly<Record<string, unknown>> = {}): Service {
  return parseService(serviceManifest('shop/cart', spec)).value!;
}

function slice(
  fields: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): EndpointSlice {
  const manifest = sliceManifest('shop/cart', [{ addresses: ['10.66.0.1'] }], fields);
  return parseEndpointSlice({ ...manifest, metadata: { ...manifest.metadata, ...metadata } }).value!;
}

function node(zone: string): Node {
  return parseNode({ metadata: { name: 'worker-7', labels: { 'topology.kubernetes.io/zone': zone } } }).value!;
}
