// What another kube-proxy left, made with the system's own tools in a network of this file's own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { afterEach, test } from 'node:test';
import { legacyTables } from '../../src/kernel/host.ts';
import { countVirtualServers, describeLeftover, findLeftovers, proxyChains } from '../../src/kernel/leftovers.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const run = (input: string, ...argv: string[]): string =>
  execFileSync(argv[0]!, argv.slice(1), { encoding: 'utf8', input });

afterEach(() => {
  run('', 'nft', 'flush', 'ruleset');
  run('', 'ipset', 'destroy');
  for (const table of legacyTables('IPv4')) {
    run('', 'iptables-legacy', '-t', table, '-F');
    run('', 'iptables-legacy', '-t', table, '-X');
  }
});

const RULES = `*nat
:KUBE-SERVICES - [0:0]
:KUBE-SVC-TCOU7JCQXEZGVUNU - [0:0]
-A PREROUTING -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m udp --dport 53 -j KUBE-SVC-TCOU7JCQXEZGVUNU
COMMIT
*filter
:KUBE-FIREWALL - [0:0]
COMMIT
`;

test('an empty host has no leftovers, in any mode', async () => {
  for (const mode of ['iptables', 'nftables', 'ipvs', 'userspace'] as const) {
    assert.deepEqual(await findLeftovers({ mode, variant: 'nft' }), []);
  }
});

test('rules in the iptables that is not used are found, and how to remove them is said', async () => {
  run(RULES, 'iptables-legacy-restore', '--noflush');
  const found = await findLeftovers({ mode: 'iptables', variant: 'nft' });
  assert.deepEqual(found, [{ kind: 'iptables', variant: 'legacy', family: 'IPv4', chains: 2 }]);
  assert.equal(
    describeLeftover(found[0]!),
    'iptables-legacy holds 2 chains of a kube-proxy that are not in use and may catch traffic. If no other kube-proxy runs here, remove them: iptables-legacy-save | grep -v KUBE- | iptables-legacy-restore',
  );
  run('', 'sh', '-c', 'iptables-legacy-save | grep -v KUBE- | iptables-legacy-restore');
  assert.deepEqual(await findLeftovers({ mode: 'iptables', variant: 'nft' }), []);
});

test('rules in the iptables that is used are no leftovers, except in nftables mode', async () => {
  run(RULES, 'iptables-nft-restore', '--noflush');
  assert.deepEqual(await findLeftovers({ mode: 'iptables', variant: 'nft' }), []);
  assert.deepEqual(await findLeftovers({ mode: 'iptables' }), []); // not known which is used
  assert.deepEqual(await findLeftovers({ mode: 'nftables' }), [
    { kind: 'iptables', variant: 'nft', family: 'IPv4', chains: 2 },
  ]);
});

test("kubelet's own chains are no leftovers", () => {
  assert.deepEqual(proxyChains('*mangle\n:KUBE-KUBELET-CANARY - [0:0]\n:KUBE-IPTABLES-HINT - [0:0]\n'), []);
});

test('a table of nftables mode is found and its maker told', async () => {
  run('add table ip kube-proxy; add chain ip kube-proxy services', 'nft', '-f', '-');
  run('add table ip6 kube-proxy; add chain ip6 kube-proxy service-ULMVA6XW-ns1/svc1/tcp/p80', 'nft', '-f', '-');
  const found = await findLeftovers({ mode: 'iptables', variant: 'nft' });
  assert.deepEqual(found, [
    { kind: 'nftables', family: 'IPv4', layout: 'portolan' },
    { kind: 'nftables', family: 'IPv6', layout: 'upstream' },
  ]);
  assert.match(describeLeftover(found[1]!), /of upstream's kube-proxy .* nft delete table ip6 kube-proxy$/);
  assert.deepEqual(await findLeftovers({ mode: 'nftables' }), []);
});

test('ipsets and the interface of IPVS mode are found; sets of others are not', async () => {
  run('', 'ipset', 'create', 'KUBE-CLUSTER-IP', 'hash:ip,port');
  run('', 'ipset', 'create', 'mine', 'hash:ip');
  run('', 'ip', 'link', 'add', 'kube-ipvs0', 'type', 'bridge');
  const found = await findLeftovers({ mode: 'nftables' });
  run('', 'ip', 'link', 'del', 'kube-ipvs0');
  assert.deepEqual(found, [{ kind: 'ipvs', virtualServers: 0, hasInterface: true, sets: ['KUBE-CLUSTER-IP'] }]);
  assert.match(describeLeftover(found[0]!), /^IPVS mode left interface kube-ipvs0, 1 ipsets: /);
});

test('virtual servers are counted, their destinations are not', () => {
  const listed = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  0A600001:01BB rr
  -> 0A000001:192B      Masq    1      0          0
UDP  0A60000A:0035 rr
`;
  assert.equal(countVirtualServers(listed), 2);
  assert.equal(countVirtualServers(''), 0);
});
