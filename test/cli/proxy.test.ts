// The program kube-proxy as far as it needs no cluster: what it prints where, and how it ends.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../bin/kube-proxy', import.meta.url));
const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
const folder = mkdtempSync(join(tmpdir(), 'portolan-proxy-'));
after(() => rmSync(folder, { recursive: true }));

function kubeProxy(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(PROGRAM, args, { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test('--version prints the Kubernetes release on standard output', () => {
  assert.deepEqual(kubeProxy('--version', ''), { status: 0, stdout: 'Kubernetes v1.36.4\n', stderr: '' });
});

test('a wrong flag prints the usage and the error on standard error', () => {
  const { status, stdout, stderr } = kubeProxy('--windows-service');
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /^[\s\S]+Usage:\n {2}kube-proxy \[flags\]\n[\s\S]+\nError: unknown flag: --windows-service\n$/);
});

test('an argument prints the error alone', () => {
  const stderr = 'Error: "kube-proxy" does not take any arguments, got ["false"]\n';
  assert.deepEqual(kubeProxy('--cleanup', 'false'), { status: 1, stdout: '', stderr });
});

test('a file with several faults is refused with all of them in one record of the log', () => {
  const { status, stderr } = kubeProxy('--config', file('faults.yaml', `${HEAD}mode: userspace\noomScoreAdj: 2000\n`));
  assert.equal(status, 1);
  const record = stderr.split('\n').find((line) => line.includes('"command failed"')) ?? '';
  assert.match(record, /^E\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] "command failed" err="failed validate: \[/);
  assert.match(
    record,
    /OOMScoreAdj: Invalid value: 2000: .*, KubeProxyConfiguration\.Mode\.ProxyMode: Invalid value: /,
  );
});

test('--write-config-to writes what would run, and says in known words if it cannot', () => {
  const config = file('short.yaml', `${HEAD}clusterCIDR: 10.244.0.0/16\nunknownField: 1\n`);
  const path = join(folder, 'written.yaml');
  const written = kubeProxy('--config', config, '--hostname-override', ' Node-1 ', '--write-config-to', path);
  assert.equal(written.status, 0, written.stderr);
  assert.match(written.stderr, /"Using lenient decoding as strict decoding failed" err=".*unknownField/);
  const text = readFileSync(path, 'utf8');
  assert.match(text, /^clusterCIDR: 10\.244\.0\.0\/16$/m);
  assert.match(text, /^hostnameOverride: node-1$/m);
  assert.match(text, /^mode: iptables$/m);

  const missing = join(folder, 'missing', 'x.yaml');
  const failed = kubeProxy('--logging-format=json', '--write-config-to', missing);
  assert.equal(failed.status, 1);
  const records = failed.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const err = `open ${missing}: no such file or directory`;
  assert.deepEqual(
    records.slice(-2).map((record) => [record.msg, record.err]),
    [
      ['Error running ProxyServer', err],
      ['command failed', err],
    ],
  );
});
