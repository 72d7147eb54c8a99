// Every kind of chaos does what it says, and the cluster is whole again afterwards.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/agent.ts';
import { TestLab } from '../support/lab.ts';

describe('chaos', () => {
  const lab = new TestLab();
  before(() => lab.up());
  after(() => lab.remove());

  const podsOf = async (app: string) =>
    (await lab.ok('kubectl', '-n', 'yaobank', 'get', 'pods', '-l', `app=${app}`, '-o', 'wide', '--no-headers'))
      .trim()
      .split('\n');
  const works = async (node: string) => {
    const { status, stdout } = await lab.run('curl', '--times', '4', `http://${node}:30180/`);
    return status === 0 && /^customer-\S+ +█+ +4 /m.test(stdout);
  };
  /** How often its agent has met rules that somebody else had changed. Who only looks whether they are gone may come too late. */
  const driftsOf = async (node: string) => {
    const metrics = await lab.ok('exec', node, '--', 'curl', '-sf', 'localhost:10249/metrics');
    return [...metrics.matchAll(/^portolan_drift_total\S* (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const recovers = (node: string) =>
    until(
      () => works(node),
      60_000,
      () => `${node} never served the customer page again`,
    );

  test('kill-pod: another pod takes its place', async () => {
    const before = await podsOf('customer');
    assert.match(await lab.ok('chaos', 'kill-pod', 'customer'), /pod yaobank\/customer-\S+ was killed/);
    await recovers('node1');
    assert.notEqual((await podsOf('customer'))[0]?.split(' ')[0], before[0]?.split(' ')[0]);
  });

  test('crash-pod: the same pod starts again', async () => {
    const name = (await podsOf('customer'))[0]!.split(' ')[0]!;
    await lab.ok('chaos', 'crash-pod', name);
    await recovers('node1');
    const [line] = await podsOf('customer');
    assert.match(line!, new RegExp(`^${name} +1/1 +Running +1 `));
  });

  test('drain: the pods of a node move, and may come back', async () => {
    await lab.ok('chaos', 'drain', 'node2');
    await until(
      async () => (await podsOf('summary')).every((line) => / Running .* node1 /.test(line)),
      60_000,
      () => 'pods stay on node2',
    );
    await recovers('node2');
    assert.match(await lab.ok('kubectl', 'get', 'node', 'node2'), /SchedulingDisabled/);
    assert.match(await lab.ok('chaos', 'heal'), /no longer: node2 is drained/);
    assert.doesNotMatch(await lab.ok('kubectl', 'get', 'node', 'node2'), /SchedulingDisabled/);
  });

  test('cut-link: a node cannot be reached while its cable is cut', async () => {
    await lab.ok('chaos', 'cut-link', 'node2');
    assert.match((await lab.run('curl', 'http://node2:30180/', '--times', '2')).stdout, /no answer: ETIMEDOUT/);
    assert.match(await lab.ok('chaos', 'list'), /Broken now: the cable of node2 is cut/);
    assert.match((await lab.run('chaos', 'cut-link', 'node2')).stderr, /already/);
    await lab.ok('chaos', 'heal');
    await recovers('node2');
  });

  test('flush-rules: the agent writes them again', async () => {
    const before = await driftsOf('node1');
    await lab.ok('chaos', 'flush-rules', 'node1');
    await until(
      async () => (await driftsOf('node1')) > before,
      60_000,
      () => 'the agent never noticed',
    );
    await recovers('node1');
  });

  test('kill-agent: another one takes over the rules', async () => {
    await lab.ok('chaos', 'kill-agent', 'node1');
    assert.equal(await works('node1'), true);
    await until(
      async () =>
        (await lab.run('exec', 'node1', '--', 'curl', '-sf', 'localhost:10249/proxyMode')).stdout === 'iptables',
      60_000,
      () => 'the agent never came back',
    );
  });

  test('stop-api: kubectl is refused, Services work on, and changes made meanwhile are followed', async () => {
    await lab.ok('chaos', 'stop-api');
    assert.match((await lab.run('kubectl', 'get', 'pods')).stderr, /refused/);
    assert.equal(await works('node1'), true);
    await lab.ok('chaos', 'kill-pod', 'customer');
    await lab.ok('chaos', 'heal');
    await recovers('node1');
    assert.match(await lab.ok('kubectl', 'get', 'nodes'), /node1 +Ready/);
  });

  test('random: it happens, and ends whole', async () => {
    const said = await lab.ok('chaos', 'random', '--for', '4s');
    assert.ok(said.split('\n').length > 1, said);
    assert.match(await lab.ok('chaos', 'list'), /Nothing is broken/);
    await recovers('node1');
    await recovers('node2');
  });

  test('an unknown kind or target is refused with those that exist', async () => {
    assert.match((await lab.run('chaos', 'earthquake')).stderr, /there are kill-pod, /);
    assert.match((await lab.run('chaos', 'drain', 'node9')).stderr, /there are control, node1, node2/);
  });
});
