// More than a datagram may hold, as it happens to root in a user namespace: a rootless cluster, or the lab of an ordinary user.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { isTooLong, KernelError } from '../../src/kernel/error.ts';
import { encodeBatch } from '../../src/kernel/netlink/netfilter.ts';
import { Nftables } from '../../src/kernel/nftables.ts';
import type { NftOperation, NftTable } from '../../src/kernel/nftables-objects.ts';
import { encodeSteps } from '../../src/kernel/nftables-steps.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { read } from '../../src/modes/nftables/apply.ts';
import { diff } from '../../src/modes/nftables/diff.ts';
import { sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { serviceManifest, sliceManifest } from '../support/manifests.ts';
import { type NftablesNode, nftablesNode } from '../support/nftables-node.ts';

continueInSandbox(import.meta.url, 'ordinary');

const SERVICES = 500;
const NARROW_BYTES = 16 * 1024;

/** As where net.core.wmem_max is small, which is one number for the whole machine. */
class NarrowNftables extends Nftables {
  commits = 0;
  refusals = 0;

  override async commit(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    this.#send(table, operations);
    this.commits++;
    await super.commit(table, operations);
  }

  override async check(table: NftTable, operations: readonly NftOperation[]): Promise<void> {
    this.#send(table, operations);
    await super.check(table, operations);
  }

  #send(table: NftTable, operations: readonly NftOperation[]): void {
    if (encodeBatch('nftables', encodeSteps(table, operations), 1).length <= NARROW_BYTES) return;
    this.refusals++;
    throw new KernelError('KERNEL_REFUSED', { operation: 'nftables.commit', errno: 'EMSGSIZE', detail: 'too long' });
  }
}

const nftables = new NarrowNftables();
after(() => nftables.close());

test('the kernel takes no datagram that is longer than the buffer may be, and it is known by its error', async () => {
  const longest = 2 * Number(readFileSync('/proc/sys/net/core/wmem_max', 'utf8'));
  const comment = 'x'.repeat(100);
  const operations = Array.from({ length: longest / comment.length }, () => ({ op: 'add-table', comment }) as const);
  const wide = new Nftables();
  await assert.rejects(wide.check({ family: 'IPv4', name: 'tried' }, operations), isTooLong);
  await wide.check({ family: 'IPv4', name: 'tried' }, operations.slice(0, 100));
  wide.close();
});

test('a change that does not fit a datagram comes in parts, and is whole in the end', async () => {
  const cluster = new TestCluster().apply(...GOLDEN_NODES, ...services(0));
  const node = nftablesNode(nftables, cluster.tracker, 'IPv4');
  await syncInParts(node);

  cluster.apply(...services(1));
  await syncInParts(node);

  execFileSync('nft', ['-f', '-'], { input: 'delete table ip kube-proxy; add table ip kube-proxy' });
  node.held = undefined;
  await syncInParts(node);
  const tables = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' });
  assert.equal(tables, 'table ip kube-proxy\n', 'the table that stood in is gone');

  cluster.delete(...services(1));
  await syncInParts(node);
});

async function syncInParts(node: NftablesNode): Promise<void> {
  Object.assign(nftables, { commits: 0, refusals: 0 });
  await sync(node);
  assert.ok(nftables.refusals > 0 && nftables.commits > 1, `${nftables.refusals} refused, ${nftables.commits} made`);
  const { addedRows, removedRows, addedChains, removedChains, addedSets } = diff(await read(node.drivers), node.plan!);
  assert.deepEqual([addedRows, removedRows, addedChains, removedChains, addedSets].flat(), []);
}

/** Each with two endpoints, one of them another in each round. */
function services(round: number): readonly Manifest[] {
  return Array.from({ length: SERVICES }, (_, i) => {
    const host = `${i >> 8}.${i & 255}`;
    return [
      serviceManifest(`many/s${i}`, { clusterIP: `10.96.${host}` }),
      sliceManifest(`many/s${i}`, [{ addresses: [`10.244.${host}`] }, { addresses: [`10.${245 + round}.${host}`] }]),
    ];
  }).flat();
}
