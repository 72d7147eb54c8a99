import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import type { Manifest } from '../../../test/support/golden.ts';
import { serviceManifest, sliceManifest } from '../../../test/support/manifests.ts';
import { modelOf, WORKER_7, workedExample } from '../../../test/support/worked.ts';
import type { NodeModel } from '../../model/model.ts';
import { resolveNode } from '../../model/resolve.ts';
import { kernelState } from './apply.ts';
import { diff, type IptablesChange } from './diff.ts';
import type { IptablesFacts } from './facts.ts';
import { type IptablesPlan, plan } from './plan.ts';

const { facts } = workedExample('clusterip-and-no-endpoints');
const CART = serviceManifest('shop/cart');
const SVC = 'KUBE-SVC-I5LIAMPLWKMBJ54B';
const SEP_7 = 'KUBE-SEP-2IINZM43XJXX4T3B';
const SEP_9 = 'KUBE-SEP-QQ3VVSM6MA255S5A';
const DISPATCH = `KUBE-SERVICES -m comment --comment "shop/cart:http cluster IP" -m tcp -p tcp -d 10.99.0.21 --dport 80 -j ${SVC}`;

describe('after the plan before', () => {
  test('nothing is written where nothing differs', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    assert.deepEqual(node.change(endpoints('10.66.1.7')), {
      isFull: false,
      ahead: [],
      lines: [],
      rulesWritten: { filter: 0, nat: 0 },
    });
  });

  test('an endpoint more rewrites the chain that picks, and adds its own', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    const { lines, rulesWritten } = node.change(endpoints('10.66.1.7', '10.66.2.9'));
    assert.deepEqual(shape(lines), [
      '*nat',
      `:${SVC}`,
      `:${SEP_9}`,
      `-A ${SVC}`,
      `-A ${SVC}`,
      `-A ${SVC}`,
      `-A ${SEP_9}`,
      `-A ${SEP_9}`,
      'COMMIT',
    ]);
    assert.deepEqual(rulesWritten, { filter: 0, nat: 5 });
  });

  test('an endpoint less is emptied before anything, and deleted after everything', () => {
    const node = new Node(CART, endpoints('10.66.1.7', '10.66.2.9'));
    const { lines } = node.change(endpoints('10.66.1.7'));
    assert.deepEqual(shape(lines), ['*nat', `:${SVC}`, `:${SEP_9}`, `-A ${SVC}`, `-A ${SVC}`, `-X ${SEP_9}`, 'COMMIT']);
  });

  test('the last endpoint moves the service from nat to filter', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    const { lines } = node.change(endpoints());
    assert.deepEqual(lines, [
      '*filter',
      '-A KUBE-SERVICES -m comment --comment "shop/cart:http has no endpoints" -m tcp -p tcp -d 10.99.0.21 --dport 80 -j REJECT',
      'COMMIT',
      '*nat',
      `:${SVC} - [0:0]`,
      `:${SEP_7} - [0:0]`,
      `-D ${DISPATCH}`,
      `-X ${SVC}`,
      `-X ${SEP_7}`,
      'COMMIT',
    ]);
  });

  test('a new service stands in front of the others, and of the node ports', () => {
    const node = new Node(endpoints('10.66.1.7'));
    const { lines } = node.change(CART);
    assert.ok(lines.includes(`-I ${DISPATCH}`));
    assert.ok(!lines.some((line) => line.startsWith('-A KUBE-SERVICES')));
  });

  test('several rules of a service keep their order where they go to the front', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    const { lines } = node.change(serviceManifest('shop/cart', { externalIPs: ['198.51.100.1', '198.51.100.2'] }));
    const inserted = lines
      .filter((line) => line.startsWith('-I KUBE-SERVICES'))
      .map((line) => / -d (\S+)/.exec(line)?.[1]);
    assert.deepEqual(inserted, ['198.51.100.2', '198.51.100.1', '10.99.0.21'], 'the last inserted stands first');
  });

  test('other node-port addresses replace the end of KUBE-SERVICES alone', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    const { lines } = node.change([], { nodePortAddresses: { kind: 'some', ips: ['172.20.5.7'] } });
    assert.deepEqual(shape(lines), ['*nat', '-D KUBE-SERVICES', '-A KUBE-SERVICES', 'COMMIT']);
  });

  test('other facts rewrite the chains that depend on them', () => {
    const node = new Node(CART, endpoints('10.66.1.7'));
    const { lines } = node.change([], { conntrackIsLiberal: true, masqueradeAll: true });
    assert.deepEqual([...new Set(shape(lines).filter((line) => line.startsWith(':')))], [':KUBE-FORWARD', `:${SVC}`]);
  });

  test('a plan that was not made from the one that is held is refused', () => {
    const held = plan(modelOf([CART]), facts);
    assert.throws(() => diff(held, plan(modelOf([CART]), facts)), /not made from/);
  });
});

describe('after a reading of the kernel', () => {
  const wanted = plan(modelOf([CART, endpoints('10.66.1.7')]), facts);

  test('an empty host gets everything: canaries, chains, rules, jumps', () => {
    const { isFull, lines, rulesWritten } = diff(kernelState(''), wanted);
    assert.equal(isFull, true);
    assert.deepEqual(rulesWritten, wanted.ruleCounts);
    assert.equal(lines.filter((line) => line === ':KUBE-PROXY-CANARY - [0:0]').length, 3);
    assert.equal(lines.filter((line) => /^-I (INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING) /.test(line)).length, 14);
  });

  test('what stands is not made again, what is stale goes, what is not ours stays', () => {
    const save = [
      '*mangle',
      ':KUBE-PROXY-CANARY - [0:0]',
      'COMMIT',
      '*nat',
      ':PREROUTING ACCEPT [0:0]',
      ':KUBE-SEP-STALE - [0:0]',
      `:${SVC} - [0:0]`,
      ':KUBE-KUBELET-CANARY - [0:0]',
      '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
      'COMMIT',
    ].join('\n');
    const { lines } = diff(kernelState(save), wanted);
    assert.ok(!lines.includes('*mangle'));
    assert.ok(!lines.some((line) => line.startsWith('-I PREROUTING')));
    assert.deepEqual(
      lines.filter((line) => line.startsWith('-X')),
      ['-X KUBE-SEP-STALE'],
    );
    assert.ok(lines.indexOf(':KUBE-SEP-STALE - [0:0]') < lines.indexOf('-X KUBE-SEP-STALE'));
    assert.ok(!lines.some((line) => line.includes('KUBELET')));
  });

  test('the kernel is read by table, whatever its chains are called', () => {
    const save =
      '# a comment\n*raw\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n*filter\n:INPUT ACCEPT [1:2]\n:X - [0:0]\n-A INPUT -j X\nCOMMIT\n';
    const { chains, jumps } = kernelState(save);
    assert.deepEqual([[...chains.filter], [...chains.nat], [...chains.mangle]], [['INPUT', 'X'], [], []]);
    assert.equal(jumps.size, 0);
  });
});

/** Syncs a cluster change by change. */
class Node {
  readonly #cluster = new TestCluster();
  #model: NodeModel | undefined;
  #plan: IptablesPlan | undefined;
  #facts = facts;

  constructor(...manifests: readonly Manifest[]) {
    this.#cluster.apply(...manifests);
    this.#next();
  }

  change(manifests: Manifest | readonly Manifest[], changed: Partial<IptablesFacts> = {}): IptablesChange {
    this.#cluster.apply(...[manifests].flat());
    this.#facts = { ...this.#facts, ...changed };
    const before = this.#plan!;
    return diff(before, this.#next());
  }

  #next(): IptablesPlan {
    this.#model = resolveNode(this.#cluster.tracker.take('IPv4'), WORKER_7, this.#model);
    this.#plan = plan(this.#model, this.#facts, this.#plan);
    return this.#plan;
  }
}

function endpoints(...ips: readonly string[]): Manifest {
  return sliceManifest(
    'shop/cart',
    ips.map((ip) => ({ addresses: [ip] })),
  );
}

/** Each line up to the chain it is about. */
function shape(lines: readonly string[]): readonly string[] {
  return lines.map((line) =>
    line
      .split(' ')
      .slice(0, line.startsWith('-') ? 2 : 1)
      .join(' '),
  );
}
