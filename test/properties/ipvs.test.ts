// What holds of IPVS mode for any history of a cluster: the steps of each sync, done to a kernel that is kept in memory, lead to
// what a fresh start would have made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { entryText } from '../../src/kernel/ipset-codec.ts';
import type { RealServerState, VirtualServer } from '../../src/kernel/ipvs-codec.ts';
import { FAMILIES, type Family, familyOf } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { resolveNode } from '../../src/model/resolve.ts';
import { diff, type IpvsState, type IpvsStep } from '../../src/modes/ipvs/diff.ts';
import type { IpvsFacts } from '../../src/modes/ipvs/facts.ts';
import { serverKey, type WantedEntry } from '../../src/modes/ipvs/part.ts';
import { type IpvsPlan, plan } from '../../src/modes/ipvs/plan.ts';
import { print } from '../../src/modes/ipvs/print.ts';
import { TestCluster } from '../support/cluster.ts';
import type { Manifest } from '../support/golden.ts';
import { randomSteps } from '../support/random-cluster.ts';

const IDENTITY = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
};
const NODE_IPS = ['192.168.50.1', '198.51.100.2', 'fd00:50::1'];

function facts(family: Family, nodePortIps: readonly string[] | undefined): IpvsFacts {
  const nodeAddresses = NODE_IPS.filter((ip) => familyOf(ip) === family);
  return {
    family,
    nodeName: 'n1',
    scheduler: 'rr',
    masqueradeMark: 0x4000,
    masqueradeAll: false,
    detector: { kind: 'none' },
    hasRandomFully: true,
    excludeCIDRs: [],
    nodeAddresses,
    nodePortAddresses: nodePortIps ? nodePortIps.filter((ip) => familyOf(ip) === family) : nodeAddresses,
  };
}

test('after any history, the kernel holds what a fresh start would have made', () => {
  fc.assert(
    fc.property(randomSteps(6), fc.constantFrom(...FAMILIES), (steps, family) => {
      const cluster = new TestCluster();
      const objects = new Map<string, Manifest>();
      const kernel = new MemoryKernel();
      let model: NodeModel | undefined;
      let previous: IpvsPlan | undefined;
      for (const step of steps) {
        for (const manifest of step.delete) objects.delete(keyOf(manifest));
        for (const manifest of step.apply) objects.set(keyOf(manifest), manifest);
        cluster.delete(...step.delete).apply(...step.apply);
        const now = facts(family, step.nodePortIps);
        model = resolveNode(cluster.tracker.take(family), IDENTITY, model);
        const held = step.forgets ? undefined : previous;
        const next = plan(model, now, previous);
        kernel.apply(diff(held ?? kernel.read(), next).steps);
        previous = next;

        const fresh = new TestCluster().apply(...objects.values());
        const wanted = plan(resolveNode(fresh.tracker.take(family), IDENTITY), now);
        const made = new MemoryKernel();
        made.apply(diff(made.read(), wanted).steps);
        assert.deepEqual(kernel.holdings(), made.holdings());
        assert.equal(print(next), print(wanted));
        const more = diff(kernel.read(), wanted).steps.map(({ kind }) => kind);
        assert.deepEqual(more, ['prepare', 'restore']);
      }
    }),
    { numRuns: 150 },
  );
});

test('at no point of a change is an address bound before its server is there, or its server gone before the address', () => {
  fc.assert(
    fc.property(randomSteps(5), (steps) => {
      const cluster = new TestCluster();
      const kernel = new MemoryKernel();
      let model: NodeModel | undefined;
      let previous: IpvsPlan | undefined;
      for (const step of steps) {
        cluster.delete(...step.delete).apply(...step.apply);
        model = resolveNode(cluster.tracker.take('IPv4'), IDENTITY, model);
        const next = plan(model, facts('IPv4', undefined), previous);
        for (const one of diff(previous ?? kernel.read(), next).steps) {
          kernel.apply([one]);
          for (const ip of kernel.addresses) assert.ok(kernel.hasServerOn(ip), `${ip} after ${JSON.stringify(one)}`);
        }
        previous = next;
      }
    }),
    { numRuns: 100 },
  );
});

/** Does what the kernel does with each step, and no more. */
class MemoryKernel {
  readonly addresses = new Set<string>();
  readonly #servers = new Map<string, { server: VirtualServer; backends: Map<string, RealServerState> }>();
  readonly #entries = new Map<string, WantedEntry>();
  #rules: readonly string[] = [];

  apply(steps: readonly IpvsStep[]): void {
    for (const step of steps) this.#apply(step);
  }

  hasServerOn(ip: string): boolean {
    return [...this.#servers.values()].some(({ server }) => server.ip === ip);
  }

  read(): IpvsState {
    const entries = Map.groupBy(this.#entries.values(), ({ set }) => set);
    return {
      kind: 'read',
      servers: [...this.#servers.values()].map(({ server, backends }) => ({
        server,
        backends: [...backends.values()],
      })),
      sets: new Map([...entries].map(([set, list]) => [set, list.map(({ entry }) => entry)])),
      addresses: [...this.addresses],
      chains: { nat: new Set(['KUBE-LOCAL-CLIENTS']), filter: new Set() },
      referenced: { nat: new Set(), filter: new Set() },
      jumps: new Set(),
    };
  }

  holdings(): unknown {
    const servers = [...this.#servers].map(([key, { server, backends }]) => [key, server, [...backends.keys()].sort()]);
    return {
      servers: servers.sort(),
      entries: [...this.#entries.keys()].sort(),
      addresses: [...this.addresses].sort(),
      rules: this.#rules.filter((line) => line.startsWith('-A KUBE-')),
    };
  }

  #apply(step: IpvsStep): void {
    switch (step.kind) {
      case 'prepare':
        return;
      case 'restore':
        this.#rules = step.lines;
        return;
      case 'add-server':
        assert.ok(!this.#servers.has(serverKey(step.server)), 'a server is added once');
        this.#servers.set(serverKey(step.server), { server: step.server, backends: new Map() });
        return;
      case 'set-server':
        this.#servers.get(serverKey(step.server))!.server = step.server;
        return;
      case 'delete-server':
        assert.ok(this.#servers.delete(serverKey(step.server)), 'a server is deleted once');
        return;
      case 'add-backend':
      case 'set-backend':
      case 'remove-backend': {
        const { backends } = this.#servers.get(serverKey(step.server))!;
        const key = `${step.backend.ip} ${step.backend.port}`;
        assert.equal(backends.has(key), step.kind !== 'add-backend');
        if (step.kind === 'remove-backend') backends.delete(key);
        else backends.set(key, { ...step.backend, activeConnections: 0, inactiveConnections: 0 });
        return;
      }
      case 'add-entry':
      case 'delete-entry': {
        const key = `${step.set} ${entryText(step.entry)}`;
        assert.equal(this.#entries.has(key), step.kind === 'delete-entry');
        if (step.kind === 'add-entry') this.#entries.set(key, { set: step.set, entry: step.entry });
        else this.#entries.delete(key);
        return;
      }
      case 'add-address':
        this.addresses.add(step.ip);
        return;
      case 'delete-address':
        assert.ok(this.addresses.delete(step.ip));
    }
  }
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
