// The network that other packet tests trust: who can reach whom, and what a probe says when rules are in the way. The rules
// here are written by hand.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import http from 'node:http';
import type net from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterOf, podOn } from '../../src/lab/network/cluster.ts';
import { golden } from '../../src/lab/network/golden.ts';
import { Network } from '../../src/lab/network/network.ts';
import type { PacketProbe, PacketResult } from '../../src/lab/network/probe.ts';
import { asOrdinaryUser, asOurselves } from '../support/network-as-user.ts';
import { lastingProcesses, MARK, processesWith } from '../support/network-traces.ts';

const PODS: Readonly<Record<string, readonly [string, string]>> = {
  a1: ['10.244.1.11', '[fd00:10:244:1::11]'],
  a2: ['10.244.1.12', '[fd00:10:244:1::12]'],
  b1: ['10.244.2.11', '[fd00:10:244:2::11]'],
  b2: ['10.244.2.12', '[fd00:10:244:2::12]'],
};

const FAMILIES_OF_RULES = [
  { family: 'ip', tool: 'iptables', service: '10.96.0.10', ip: '10.96.0.10', pods: ['10.244.1.11', '10.244.2.11'] },
  {
    family: 'ip6',
    tool: 'ip6tables',
    service: 'fd00:10:96::10',
    ip: '[fd00:10:96::10]',
    pods: ['fd00:10:244:1::11', 'fd00:10:244:2::11'],
  },
] as const;

describe('the golden network', () => {
  let network: Network;

  before(async () => {
    network = await Network.open(golden);
  });
  after(() => network.close());

  for (const proto of ['tcp', 'udp'] as const) {
    test(`everybody reaches every pod over ${proto}, in both families, without a change of address`, async () => {
      const askers = ['n1', 'n2', ...Object.keys(PODS), 'x'];
      const questions = askers.flatMap((from) =>
        Object.entries(PODS).flatMap(([pod, ips]) => ips.map((ip) => ({ from, pod, to: `${ip}:9090` }))),
      );
      await Promise.all(
        questions.map(async ({ from, pod, to }) => {
          const seen = await seenBy(network, { from, proto, to, count: 2 });
          assert.deepEqual(
            seen,
            { answered: { [`${pod}:9090`]: [from === 'n1' ? 'node' : 'client'] } },
            `${from} ${to}`,
          );
        }),
      );
    });
  }

  test('pods of n2 meet each other by way of n1', async () => {
    await network.exec('n1', ['nft', '-f', '-'], {
      stdin: `table ip watch {
        chain c { type filter hook forward priority 0
          ip saddr 10.244.2.11 ip daddr 10.244.2.12 counter
        }
      }`,
    });
    await network.probe({ from: 'b1', proto: 'udp', to: '10.244.2.12:80', count: 3 });
    const { stdout } = await network.exec('n1', ['nft', 'list', 'table', 'ip', 'watch']);
    assert.match(stdout, /counter packets 3 /);
    await network.exec('n1', ['nft', 'delete', 'table', 'ip', 'watch']);
  });

  test('an address that nobody serves ends in a timeout', async () => {
    const questions = ['a1', 'b1', 'n1', 'x'].flatMap((from) =>
      (['tcp', 'udp'] as const).flatMap((proto) =>
        ['10.96.0.77:80', '[fd00:10:96::77]:80'].map((to): PacketProbe => ({ from, proto, to })),
      ),
    );
    const seen = await Promise.all(questions.map((question) => seenBy(network, question)));
    for (const [i, result] of seen.entries())
      assert.deepEqual(result, { failed: ['timeout'] }, JSON.stringify(questions[i]));
  });

  test('a closed port of the node is refused by a reset, for datagrams by ICMP', async () => {
    for (const ip of ['192.168.50.1', '10.60.0.1', '[fd00:50::1]']) {
      for (const from of ['x', 'a1', 'b1', 'n1']) {
        assert.deepEqual(await seenBy(network, { from, proto: 'tcp', to: `${ip}:30080` }), { failed: ['refused'] });
        assert.deepEqual(await seenBy(network, { from, proto: 'udp', to: `${ip}:30080` }), {
          failed: ['icmp-unreachable'],
        });
      }
    }
  });

  test('x may ask from any address of its network, and pods see it', async () => {
    const probe: PacketProbe = { from: 'x', proto: 'tcp', to: '10.244.1.11:8080', bind: '172.20.0.77', count: 2 };
    assert.deepEqual(await seenBy(network, probe), { answered: { 'a1:8080': ['client'] } });
  });

  for (const variant of ['iptables-nft', 'iptables-legacy'] as const) {
    test(`${variant}: probes show the shares, the source and the hairpin of a DNAT rule`, async () => {
      for (const { tool, service, pods, ip } of FAMILIES_OF_RULES) {
        const restore = `${variant.replace('iptables', tool)}-restore`;
        const loaded = await network.exec('n1', [restore], { stdin: dnatRules(service, pods) });
        assert.equal(loaded.status, 0, loaded.stderr);
        const [plain, hairpin, local] = await Promise.all([
          network.probe({ from: 'x', proto: 'tcp', to: `${ip}:80` }),
          seenBy(network, { from: 'a1', proto: 'tcp', to: `${ip}:80` }),
          seenBy(network, { from: 'n1', proto: 'tcp', to: `${ip}:80` }),
        ]);
        assert.deepEqual(plain.answered, { 'a1:8080': ['client'], 'b1:8080': ['client'] });
        assert.equal(plain.failed, undefined);
        const { 'a1:8080': toA1 = 0, 'b1:8080': toB1 = 0 } = plain.shares;
        assert.equal(toA1 + toB1, 60);
        assert.ok(toA1 > 10 && toB1 > 10, `${toA1} to a1, ${toB1} to b1`);
        assert.deepEqual(hairpin, { answered: { 'a1:8080': ['node'], 'b1:8080': ['client'] } });
        assert.deepEqual(local, { answered: { 'a1:8080': ['node'], 'b1:8080': ['node'] } });
        await network.exec('n1', [restore], { stdin: '*nat\nCOMMIT\n' });
      }
    });
  }

  test('a packet rejected by ICMP, reset or dropped is told apart, on its way through and at its origin', async () => {
    for (const { family, service } of FAMILIES_OF_RULES) {
      const loaded = await network.exec('n1', ['nft', '-f', '-'], { stdin: refusals(family, service) });
      assert.equal(loaded.status, 0, loaded.stderr);
    }
    const cases = [
      { proto: 'tcp', port: 1, failed: 'icmp-unreachable' },
      { proto: 'udp', port: 1, failed: 'icmp-unreachable' },
      { proto: 'tcp', port: 2, failed: 'refused' },
      { proto: 'tcp', port: 3, failed: 'timeout' },
      { proto: 'udp', port: 3, failed: 'timeout' },
    ] as const;
    const questions = ['a1', 'b1', 'x', 'n1'].flatMap((from) =>
      FAMILIES_OF_RULES.flatMap(({ ip }) =>
        cases.map(({ proto, port, failed }) => ({ from, proto, to: `${ip}:${port}`, failed })),
      ),
    );
    await Promise.all(
      questions.map(async ({ failed, ...probe }) => {
        assert.deepEqual(await seenBy(network, probe), { failed: [failed] }, JSON.stringify(probe));
      }),
    );
    await network.exec('n1', ['nft', 'flush', 'ruleset']);
  });
});

describe('a network at work', () => {
  let network: Network;

  before(async () => {
    network = await Network.open(golden);
  });
  after(() => network.close());

  test("a pod can come and go, and its node's route with it", async () => {
    await network.add({
      hosts: [{ name: 'a3', serves: [8080] }],
      links: [
        [
          { host: 'n1', device: 'pod-a3', routes: ['10.244.1.13/32'] },
          { host: 'a3', device: 'eth0', addresses: ['10.244.1.13/32'], routes: ['default via 192.168.50.1 onlink'] },
        ],
      ],
    });
    const probe: PacketProbe = { from: 'x', proto: 'tcp', to: '10.244.1.13:8080', count: 2 };
    assert.deepEqual(await seenBy(network, probe), { answered: { 'a3:8080': ['client'] } });
    await network.spawnIn('a3', ['sleep', '1000']);
    await network.remove('a3');
    assert.deepEqual(await seenBy(network, probe), { failed: ['timeout'] });
    const { stdout } = await network.exec('n1', ['ip', 'route']);
    assert.doesNotMatch(stdout, /pod-a3/);
    await assert.rejects(network.exec('a3', ['true']), /no host a3/);
  });

  test('a program reads its input and tells its status, output and errors', async () => {
    const result = await network.exec('a1', ['sh', '-c', 'cat; echo oh >&2; exit 3'], { stdin: 'hello' });
    assert.deepEqual(result, { status: 3, signal: null, stdout: 'hello', stderr: 'oh\n' });
    await assert.rejects(network.exec('a1', ['/no-such-program']), { code: 'ENOENT' });
  });

  test('a program left running streams its output and can be stopped', async () => {
    const program = await network.spawnIn('a1', ['sh', '-c', 'echo "$WORD"; exec sleep 1000'], { env: { WORD: 'up' } });
    const [line] = (await once(program.stdout, 'data')) as [Buffer];
    assert.equal(line.toString(), 'up\n');
    await program.kill('SIGTERM');
    assert.deepEqual(await program.exited, { status: null, signal: 'SIGTERM' });
  });

  test('a server of this process is reached from a host, directly or through a port of this machine', async () => {
    const server = http.createServer((request, response) =>
      response.end(`{"path": "${request.url}", "currentTime": 1}`),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    try {
      assert.equal(
        await network.listen('n1', '192.168.50.1', 6443, (socket) => server.emit('connection', socket)),
        6443,
      );
      const forwarded = await network.forward('n1', 0, port);
      const page = { status: 200, body: { path: '/healthz?a=b' } };
      assert.deepEqual(await network.probe({ from: 'x', http: '192.168.50.1:6443/healthz?a=b' }), page);
      assert.deepEqual(await network.probe({ from: 'n1', http: `127.0.0.1:${forwarded}/healthz?a=b` }), page);
      assert.deepEqual(await network.probe({ from: 'n1', http: '127.0.0.1:1/' }), { error: 'ECONNREFUSED' });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('this process talks to a pod through a connection made in a host', async () => {
    const socket = await network.connect('n2', '10.244.1.11', 80);
    socket.end('GET / HTTP/1.0\r\n\r\n');
    const body = (await text(socket)).split('\r\n\r\n')[1];
    assert.deepEqual(JSON.parse(body ?? ''), { name: 'a1', source: '192.168.50.2', port: 80 });
  });
});

describe('a cluster of three nodes', () => {
  const nodes = [1, 2, 3].map((number) => ({
    name: `n${number}`,
    number,
    ips: [`192.168.50.${number}`, `fd00:50::${number}`],
    podCIDRs: [`10.244.${number}.0/24`, `fd00:10:244:${number}::/64`],
  }));
  const client = { name: 'x', ips: ['192.168.50.100', 'fd00:50::100'] };
  let network: Network;

  before(async () => {
    network = await Network.open(clusterOf({ nodes, client, router: '192.168.50.254', entry: 'n1' }));
    await Promise.all(
      nodes.map((node) => {
        const { number } = node;
        const ips = [`10.244.${number}.5`, `fd00:10:244:${number}::5`];
        return network.add(podOn(node, { name: `p${number}`, ips, serves: [80] }));
      }),
    );
  });
  after(() => network.close());

  test('everybody reaches every pod, in both families', async () => {
    const questions = ['n1', 'n2', 'n3', 'p1', 'p2', 'p3', 'x'].flatMap((from) =>
      nodes.flatMap(({ number }) =>
        [`10.244.${number}.5:80`, `[fd00:10:244:${number}::5]:80`].map((to) => ({ from, to, pod: `p${number}:80` })),
      ),
    );
    await Promise.all(
      questions.map(async ({ from, to, pod }) => {
        const seen = await seenBy(network, { from, proto: 'tcp', to, count: 2 });
        assert.deepEqual(seen, { answered: { [pod]: [from.startsWith('n') ? 'node' : 'client'] } }, `${from} ${to}`);
      }),
    );
  });

  test('x enters by the entry node, and an address that nobody serves ends in a timeout', async () => {
    const rules = ['PREROUTING -d 203.0.113.1 -p tcp -j DNAT --to-destination 10.244.3.5', 'POSTROUTING -j MASQUERADE'];
    const stdin = `*nat\n${rules.map((rule) => `-A ${rule}\n`).join('')}COMMIT\n`;
    assert.equal((await network.exec('n1', ['iptables-restore'], { stdin })).status, 0);
    const [served, ...unserved] = await Promise.all([
      seenBy(network, { from: 'x', proto: 'tcp', to: '203.0.113.1:80' }),
      seenBy(network, { from: 'x', proto: 'tcp', to: '203.0.113.2:80' }),
      seenBy(network, { from: 'x', proto: 'udp', to: '[2001:db8::1]:80' }),
      seenBy(network, { from: 'p2', proto: 'tcp', to: '10.96.0.1:80' }),
      seenBy(network, { from: 'n3', proto: 'udp', to: '[fd00:10:96::1]:80' }),
    ]);
    assert.deepEqual(served, { answered: { 'p3:80': ['node'] } });
    for (const seen of unserved) assert.deepEqual(seen, { failed: ['timeout'] });
  });
});

describe('what a network leaves behind', () => {
  const file = fileURLToPath(new URL('../support/network-user.ts', import.meta.url));

  for (const end of ['its close', 'SIGKILL'] as const) {
    test(`an ordinary user has one too, and nothing stays after ${end}`, async (t) => {
      const command = asOrdinaryUser(file);
      if (!command) return t.skip('an ordinary user may not read this folder');
      await leavesNothing(command, end);
    });

    test(`nothing stays after ${end} of our own`, () => leavesNothing(asOurselves(file), end));
  }

  async function leavesNothing([program, ...args]: readonly [string, ...string[]], end: string): Promise<void> {
    const mark = randomUUID();
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, [MARK]: mark } });
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { loaded, seen } = JSON.parse(line.toString());
      assert.equal(loaded.status, 0, loaded.stderr);
      assert.deepEqual(seen, { answered: { 'b2:80': ['client'] }, shares: { 'b2:80': 5 } });
      assert.ok(processesWith(mark).length >= 4, 'the program, the sandbox, its first process and a sleeper');
      assert.equal(existsSync('/run/netns/n1'), false);
    } finally {
      if (end === 'SIGKILL') child.kill('SIGKILL');
      else child.stdin.end();
    }
    await once(child, 'exit');
    assert.deepEqual(await lastingProcesses(mark), []);
  }
});

/** Half to each pod; a pod that meets itself is given the node's address. */
function dnatRules(service: string, pods: readonly [string, string]): string {
  const [one, two] = pods.map((ip) => (ip.includes(':') ? `[${ip}]` : ip));
  return `*nat
:HALF - [0:0]
-A PREROUTING -d ${service} -p tcp --dport 80 -j HALF
-A OUTPUT -d ${service} -p tcp --dport 80 -j HALF
-A HALF -p tcp -m statistic --mode random --probability 0.5 -j DNAT --to-destination ${one}:8080
-A HALF -p tcp -j DNAT --to-destination ${two}:8080
-A POSTROUTING -s ${pods[0]} -d ${pods[0]} -j MASQUERADE
COMMIT
`;
}

/** Port 1 rejects by ICMP, port 2 resets, port 3 drops. */
function refusals(family: 'ip' | 'ip6', service: string): string {
  const chains = ['input', 'forward', 'output'].map(
    (hook) => `chain ${hook} { type filter hook ${hook} priority 0
      ${family} daddr ${service} th dport 1 reject
      ${family} daddr ${service} tcp dport 2 reject with tcp reset
      ${family} daddr ${service} th dport 3 drop
    }`,
  );
  return `table ${family} refusals {\n${chains.join('\n')}\n}\n`;
}

async function seenBy(network: Network, probe: PacketProbe): Promise<Omit<PacketResult, 'shares'>> {
  const { shares: _, ...seen } = await network.probe(probe);
  return seen;
}

test('connections that are open when a network closes end with it', async () => {
  const network = await Network.open({ hosts: golden.hosts.filter(({ name }) => name === 'n1'), links: [] });
  const accepted = Promise.withResolvers<net.Socket>();
  const port = await network.listen('n1', '127.0.0.1', 0, accepted.resolve);
  const socket = await network.connect('n1', '127.0.0.1', port);
  const other = await accepted.promise;
  await network.close();
  assert.deepEqual([socket.destroyed, other.destroyed], [true, true]);
});
