// Pictures of all recorded clusters: whatever a service looks like, the picture hangs together and says what the rules do.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestCluster } from '../../../test/support/cluster.ts';
import { GOLDEN_BASE, GOLDEN_NODES, goldenCases } from '../../../test/support/golden.ts';
import { defaultFacts } from '../../../test/support/iptables-node.ts';
import { FAMILIES, type Family } from '../../lib/ip.ts';
import type { NodeModel, ServicePort } from '../../model/model.ts';
import { resolveNode } from '../../model/resolve.ts';
import { portRules } from '../../modes/iptables/rules.ts';
import { iptablesPicture } from './picture-iptables.ts';
import { nftablesPicture, nftablesRules } from './picture-nftables.ts';
import { plainPicture } from './picture-plain.ts';
import { servicesShape } from './services.ts';
import type { Picture } from './shapes.ts';

const IDENTITY = { nodeName: 'n1', nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' }, allowsExternalIPs: true };

const DRAW: Readonly<Record<string, (port: ServicePort, family: Family) => Picture>> = {
  iptables: (port, family) => iptablesPicture(port, portRules(port, defaultFacts(family), false)),
  nftables: (port) => nftablesPicture(port),
  ipvs: (port) => plainPicture(port, 'IPVS'),
};

function models(): readonly { readonly name: string; readonly model: NodeModel }[] {
  return goldenCases().flatMap(({ name, steps }) => {
    const cluster = new TestCluster().apply(...GOLDEN_NODES, ...GOLDEN_BASE);
    for (const step of steps) cluster.delete(...(step.delete ?? [])).apply(...(step.apply ?? []));
    return FAMILIES.map((family) => ({ name, model: resolveNode(cluster.tracker.take(family), IDENTITY) }));
  });
}

for (const [mode, draw] of Object.entries(DRAW)) {
  describe(`pictures of ${mode} mode`, () => {
    const all = models().flatMap(({ name, model }) =>
      [...model.services.values()].flatMap(({ ports }) =>
        ports.map((port) => ({ about: `${name}: ${port.displayName}`, port, picture: draw(port, model.family) })),
      ),
    );

    test('there are many', () => assert.ok(all.length > 50));

    test('edges lead from one part of the picture to another', () => {
      for (const { about, picture } of all) {
        const ids = picture.nodes.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length, about);
        for (const { from, to } of picture.edges)
          assert.ok(ids.includes(from) && ids.includes(to), `${about}: ${from} > ${to}`);
      }
    });

    test('every address leads somewhere, and every endpoint that is used is led to', () => {
      for (const { about, picture, port } of all) {
        for (const { id, kind } of picture.nodes) {
          if (kind === 'frontend')
            assert.ok(
              picture.edges.some(({ from }) => from === id),
              `${about}: ${id}`,
            );
          if (kind === 'endpoint')
            assert.ok(
              picture.edges.some(({ to }) => to === id),
              `${about}: ${id}`,
            );
        }
        const drawn = picture.nodes.filter(({ kind }) => kind === 'endpoint').length;
        assert.equal(drawn, port.backends.reachable.length, about);
      }
    });

    test('what comes to a chain that picks is shared out whole', () => {
      for (const { about, picture } of all) {
        const endpoints = new Set(picture.nodes.flatMap(({ id, kind }) => (kind === 'endpoint' ? [id] : [])));
        const picking = Map.groupBy(
          picture.edges.filter(({ to }) => endpoints.has(to)),
          ({ from }) => from,
        );
        for (const edges of picking.values()) {
          const sum = edges.reduce((total, { probability }) => total + (probability ?? 0), 0);
          assert.ok(Math.abs(sum - 1) < 1e-9, `${about}: ${sum}`);
          if (edges.length > 1) for (const { share } of edges) assert.equal(share, `1/${edges.length}`, about);
        }
      }
    });

    test('every edge has the rule that makes it, in modes that have rules', () => {
      if (mode === 'ipvs') return;
      for (const { about, picture } of all)
        for (const { id, rules } of picture.edges) assert.ok(rules.length > 0, `${about}: ${id}`);
    });
  });
}

test('every port of nftables mode has rules to show', () => {
  for (const { model } of models())
    for (const { ports } of model.services.values())
      for (const port of ports) if (port.frontends.length > 0) assert.ok(nftablesRules(port, model.family).length > 0);
});

test('the list finds services by words of their names and by addresses, a page at a time', () => {
  const { model } = models()[0]!;
  const ask = (search: string, offset = 0, limit = 100) =>
    servicesShape([model], { search, sort: 'name', offset, limit }, new Map());
  const { total, services } = ask('');
  assert.equal(total, model.services.size);
  assert.deepEqual(
    ask('default kubernetes').services.map(({ name }) => name),
    ['default/kubernetes'],
  );
  assert.deepEqual(
    ask('10.96.0.1:443').services.map(({ name }) => name),
    ['default/kubernetes'],
  );
  assert.deepEqual(ask('', 1, 1).services, services.slice(1, 2));
  assert.equal(ask('no such service').matching, 0);
});
