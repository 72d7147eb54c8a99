// A lab as its user has it: started by one command, looked at and driven by the others.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/agent.ts';
import { TestLab } from '../support/lab.ts';

describe('a lab', () => {
  const lab = new TestLab();
  before(() => lab.up());
  after(() => lab.remove());

  test('shows its map and what to try', () => {
    for (const name of ['control', 'node1', 'node2', 'client', 'yaobank/customer', '80:30180/TCP'])
      assert.ok(lab.said.includes(name), `no ${name} in:\n${lab.said}`);
    assert.match(lab.said, /Three things to try/);
  });

  test('the customer page goes through summary and database, by the node port of every node', async () => {
    for (const node of ['control', 'node1', 'node2']) {
      const page = await lab.ok('curl', `http://${node}:30180/`);
      assert.match(page, /Balance: 2718\.28/);
      assert.match(page, /customer-\S+, which asked summary-\S+, which asked database-/);
    }
  });

  test('kubectl shows nodes, pods and Services', async () => {
    const nodes = await lab.ok('kubectl', 'get', 'nodes', '-o', 'wide');
    assert.match(nodes, /^control +Ready +control-plane .* 192\.168\.50\.10 /m);
    assert.match(nodes, /^node2 +Ready +<none> .* 192\.168\.50\.12 /m);
    const pods = await lab.ok('kubectl', '-n', 'yaobank', 'get', 'pods');
    assert.equal(pods.match(/ 1\/1 +Running /g)?.length, 4);
    assert.match(await lab.ok('kubectl', '-n', 'yaobank', 'get', 'service', 'customer'), /80:30180\/TCP/);
    assert.match(await lab.ok('kubectl', '-n', 'yaobank', 'logs', 'deployment/customer'), /"GET \/" 200/);
  });

  test('connections are shared fairly, and the chart says so', async () => {
    const chart = await lab.ok('curl', '--from', 'customer', '--times', '100', 'http://summary/');
    const counts = [...chart.matchAll(/^summary-\S+ +█+\S* +(\d+) \(/gm)].map(([, count]) => Number(count));
    assert.equal(counts.length, 2, chart);
    assert.equal(counts[0]! + counts[1]!, 100, chart);
    assert.ok(Math.min(...counts) > 25, chart);
  });

  test('commands work in a node as tutorials type them', async () => {
    assert.equal(await lab.ok('exec', 'node1', '--', 'hostname'), 'node1\n');
    assert.equal(await lab.ok('exec', 'node1', 'curl', '-s', 'localhost:10249/proxyMode'), 'iptables');
    const list = ['iptables', '-v', '--numeric', '--table', 'nat', '--list', 'KUBE-SERVICES'];
    assert.match(await lab.ok('exec', 'node1', '--', ...list), /yaobank\/summary:http cluster IP/);
    assert.match(await lab.ok('exec', 'node1', '--', 'kubectl', 'get', 'nodes'), /^node1 +Ready/m);
    assert.equal((await lab.run('exec', 'node1', '--', 'sh', '-c', 'exit 7')).status, 7);
    assert.equal(await lab.okWith('hostname\n', 'ssh', 'node2').then((said) => said.includes('node2')), true);
  });

  test('pods find Services by name, each in its own namespace first', async () => {
    const short = await lab.ok('exec', 'customer', '--', 'curl', '-sS', 'http://summary/');
    const long = await lab.ok('exec', 'coredns', '--', 'curl', '-sS', 'http://summary.yaobank.svc.cluster.local/');
    assert.equal(JSON.parse(short).number, JSON.parse(long).number);
    const unknown = await lab.run('exec', 'customer', '--', 'curl', '-sS', 'http://nobody/');
    assert.match(unknown.stderr, /Could not resolve host/);
  });

  test('nothing of this machine is seen in a node or a pod', async () => {
    const look = 'hostname; cat /etc/hosts /etc/resolv.conf /etc/hostname; ip -brief address; ls /sys/class/net; env';
    const ours = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const addresses = ours.filter(({ internal }) => !internal).map(({ address }) => address);
    for (const place of ['node1', 'client', 'customer']) {
      const words = (await lab.ok('exec', place, '--', 'sh', '-c', look)).split(/[\s/=]+/);
      for (const leak of [hostname(), ...addresses]) assert.ok(!words.includes(leak), `${place} shows ${leak}`);
    }
    const outside = await lab.run('exec', 'node1', '--', 'curl', '-sS', '--max-time', '1', 'http://192.0.2.1/');
    assert.notEqual(outside.status, 0);
  });

  test('a deployment of any image answers, and a new Service is followed at once', async () => {
    await lab.ok(
      'kubectl',
      'create',
      'deployment',
      'hello',
      '--image',
      'example/hello',
      '--port',
      '9000',
      '--replicas',
      '3',
    );
    await lab.ok('kubectl', 'rollout', 'status', 'deployment', 'hello');
    await lab.ok(
      'kubectl',
      'expose',
      'deployment',
      'hello',
      '--port',
      '80',
      '--target-port',
      '9000',
      '--type',
      'NodePort',
    );
    const port = await lab.ok('kubectl', 'get', 'service', 'hello', '-o', 'jsonpath={.spec.ports[0].nodePort}');
    await until(
      async () =>
        (await lab.run('curl', '--times', '30', `http://node2:${port}/`)).stdout.match(/^hello-/gm)?.length === 3,
      60_000,
      () => 'three pods never answered',
    );
    const said: unknown = JSON.parse(await lab.ok('exec', 'customer', '--', 'curl', '-sS', 'http://hello.default/x'));
    assert.partialDeepStrictEqual(said, { namespace: 'default', port: 9000, path: '/x' });
    await lab.ok('kubectl', 'delete', 'service,deployment', 'hello');
  });

  test('the rules of every node do what the objects say, by the word of verify', async () => {
    for (const node of ['control', 'node1', 'node2']) {
      const verify = ['verify', '--live', '--kubeconfig', '/run/kubeconfig', '--config', '/run/kube-proxy.json'];
      assert.match(await lab.ok('exec', node, '--', 'portolan', ...verify), /all agree/);
    }
  });

  test('what is not there is refused with what is', async () => {
    const { status, stderr } = await lab.run('exec', 'nowhere', '--', 'true');
    assert.equal(status, 1);
    assert.match(stderr, /no node or running pod is called nowhere; there are control, node1, node2, client, /);
    assert.match((await lab.run('up')).stderr, /running already/);
    assert.match((await lab.run('dance')).stderr, /no command "dance"/);
  });

  test('a mode that the kernel lacks is refused, and the node stays as it is', async (t) => {
    if (existsSync('/proc/net/ip_vs')) return t.skip('this kernel has IPVS');
    const { status, stderr } = await lab.run('mode', 'ipvs', 'node2');
    assert.equal(status, 1);
    assert.match(
      stderr,
      /kube-proxy cannot run on node2: can't use the IPVS proxier: .*`npm run test:vm` runs this mode/,
    );
    assert.match(await lab.ok('curl', 'http://node2:30180/'), /Balance/);
  });

  test('another mode takes over a node, and gives it back', async () => {
    await lab.ok('mode', 'nftables', 'node2');
    assert.equal(await lab.ok('exec', 'node2', '--', 'curl', '-s', 'localhost:10249/proxyMode'), 'nftables');
    assert.equal((await lab.run('exec', 'node2', '--', 'iptables', '-t', 'nat', '-L', 'KUBE-SERVICES')).status, 1);
    assert.match(await lab.ok('curl', 'http://node2:30180/'), /Balance/);
    await lab.ok('mode', 'iptables', 'node2');
    assert.match(await lab.ok('status'), /kube-proxy: iptables/);
  });
});

describe('a lab to measure', () => {
  for (const { about, args, page, pods } of [
    {
      about: "the operator course's addresses and nftables",
      args: ['--preset', '198.19', '--mode', 'nftables', '--families', 'ipv4'],
      page: 'http://198.19.0.2:30180/',
      pods: /198\.19\.17\.\d+/,
    },
    {
      about: 'IPv6 alone',
      args: ['--families', 'ipv6', '--nodes', '2'],
      page: 'http://[fd00:50::b]:30180/',
      pods: /fd00:10:244:1::\d/,
    },
    {
      about: 'IPv4 alone, and relays',
      args: ['--families', 'ipv4', '--nodes', '2', '--mode', 'userspace'],
      page: 'http://192.168.50.11:30180/',
      pods: /10\.244\.1\.\d+/,
    },
    {
      about: 'networks given by hand, on one node',
      args: ['--nodes', '1', '--pod-cidr', '10.48.0.0/16', '--service-cidr', '10.49.0.0/16'],
      page: 'http://192.168.50.10:30180/',
      pods: /10\.48\.0\.\d+/,
    },
  ]) {
    test(about, async () => {
      const lab = new TestLab();
      try {
        await lab.up(...args);
        assert.match(await lab.ok('curl', page), /Balance/);
        assert.match(await lab.ok('kubectl', 'get', 'pods', '-A', '-o', 'wide'), pods);
      } finally {
        await lab.remove();
      }
    });
  }

  test('nonsense is refused before anything is started', async () => {
    const lab = new TestLab();
    try {
      for (const [args, said] of [
        [['--mode', 'magic'], /--mode is one of/],
        [['--families', 'ipv5'], /--families is one of/],
        [['--nodes', '900'], /1 to 80 nodes/],
        [['--preset', 'moon'], /no preset moon/],
        [['--pod-cidr', '10.0.0.0/40'], /is not a network/],
      ] as const) {
        const { status, stderr } = await lab.run('up', ...args);
        assert.equal(status, 2);
        assert.match(stderr, said);
      }
      assert.deepEqual(await lab.leftovers(), { files: [], processes: [] });
    } finally {
      await lab.remove();
    }
  });
});
