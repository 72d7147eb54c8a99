// `portolan check` as a process, on a host of this file's own: what it says, and that it leaves everything as it was.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { continueInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

const MODULE = new URL('../../src/cli/check.ts', import.meta.url).href;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Answer {
  readonly isUsable: boolean;
  readonly modes: readonly { readonly mode: string; readonly isUsable: boolean; readonly detail: string }[];
  readonly findings: readonly { readonly what: string; readonly state: string; readonly detail: string }[];
}

function check(prefix: readonly string[], ...args: readonly string[]): { status: number | null; answer: Answer } {
  const program = `const { run } = await import(${JSON.stringify(MODULE)}); process.exitCode = await run(${JSON.stringify([...args, '-o', 'json'])});`;
  const argv = [...prefix, process.execPath, '--input-type=module', '-e', program];
  const { status, stdout, stderr } = spawnSync(argv[0]!, argv.slice(1), { encoding: 'utf8', cwd: ROOT });
  assert.notEqual(stdout, '', stderr);
  return { status, answer: JSON.parse(stdout) as Answer };
}

const everything = (): string =>
  ['nft list ruleset', 'iptables-legacy-save', 'ip6tables-legacy-save', 'ip -o link', 'sysctl net.ipv4 net.netfilter']
    .map((command) => execFileSync('sh', ['-c', command], { encoding: 'utf8' }))
    .join('\n')
    // Counters and clocks that tick by themselves.
    .replace(/^#.*$/gm, '')
    .replace(/\[\d+:\d+\]/g, '');

test('iptables and nftables modes can run here, and the host is as it was', () => {
  const before = everything();
  const { status, answer } = check([]);
  assert.equal(everything(), before);
  assert.equal(status, 0);
  assert.equal(answer.isUsable, true);
  const usable = answer.modes.filter(({ isUsable }) => isUsable).map(({ mode }) => mode);
  assert.ok(usable.includes('iptables') && usable.includes('nftables') && usable.includes('userspace'));
});

test('the exit code is about the mode that was asked for', (t) => {
  const { status, answer } = check([], '--mode', 'ipvs');
  const ipvs = answer.modes.find(({ mode }) => mode === 'ipvs')!;
  if (ipvs.isUsable) {
    t.skip('this kernel has IPVS');
    return;
  }
  assert.equal(status, 1);
  assert.match(ipvs.detail, /the kernel has no ip_vs/);
});

test('leftovers in the other iptables are shown with the cure', () => {
  execFileSync('iptables-nft', ['-t', 'mangle', '-N', 'KUBE-KUBELET-CANARY']);
  execFileSync('iptables-legacy', ['-t', 'nat', '-N', 'KUBE-SERVICES']);
  const { status, answer } = check([]);
  execFileSync('iptables-legacy', ['-t', 'nat', '-X', 'KUBE-SERVICES']);
  execFileSync('iptables-nft', ['-t', 'mangle', '-X', 'KUBE-KUBELET-CANARY']);
  assert.equal(status, 0);
  assert.match(answer.modes[0]!.detail, /^iptables-nft: kubelet's chain KUBE-KUBELET-CANARY is there/);
  const leftover = answer.findings.find(({ what }) => what === 'leftovers');
  assert.match(leftover?.detail ?? '', /iptables-legacy-save \| grep -v KUBE- \| iptables-legacy-restore/);
});

test('without the right to make namespaces nothing is promised', () => {
  const bare = [
    'setpriv',
    '--bounding-set=-all',
    '--inh-caps=-all',
    'sh',
    '-c',
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
    'sh',
  ];
  const { status, answer } = check(['unshare', '--user', '--map-root-user', ...bare]);
  assert.equal(status, 1);
  assert.ok(answer.modes.every(({ detail }) => detail.startsWith('could not be tried: ')));
});
