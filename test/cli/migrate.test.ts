import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function portolan(...args: readonly string[]) {
  return spawnSync(`${ROOT}bin/portolan`, args, { cwd: ROOT, encoding: 'utf8' });
}

test('the plan names the Services that will behave differently', () => {
  const { status, stdout } = portolan(
    'migrate',
    '--to',
    'nftables',
    '--plan',
    '-f',
    'examples/yaobank.yaml',
    '--node',
    'node1',
  );
  assert.equal(status, 0);
  assert.match(stdout, /yaobank\/customer:http\n {2}node port: on every address of the node -> on 192\.168\.50\.1\n/);
  assert.match(stdout, /3 service ports were looked at; 1 of them change/);
});

test('for programs the plan is JSON, with all four modes', () => {
  for (const mode of ['nftables', 'ipvs', 'userspace']) {
    const { stdout } = portolan(
      'migrate',
      '--to',
      mode,
      '--plan',
      '-f',
      'examples/yaobank.yaml',
      '--node',
      'node1',
      '-o',
      'json',
    );
    const plan = JSON.parse(stdout) as { from: string; to: string; general: unknown[] };
    assert.deepEqual([plan.from, plan.to], ['iptables', mode]);
    assert.ok(plan.general.length > 0);
  }
});

test('without --plan, or to nowhere, it says what to do', () => {
  assert.match(portolan('migrate', '--to', 'ipvs').stderr, /only plans: add --plan/);
  assert.match(
    portolan('migrate', '--to', 'ebpf', '--plan', '-f', '-').stderr,
    /must be one of iptables, nftables, ipvs, userspace/,
  );
});

test('render prints every mode', () => {
  const marks = {
    iptables: '*nat',
    nftables: 'table ip kube-proxy',
    ipvs: '-A -t 10.96.20.11:80',
    userspace: 'KUBE-PORTALS-CONTAINER',
  };
  for (const [mode, mark] of Object.entries(marks)) {
    const { stdout, stderr } = portolan('render', '-f', 'examples/yaobank.yaml', '--node', 'node1', '--mode', mode);
    assert.ok(stdout.includes(mark), `${mode}: ${stdout.slice(0, 500)}${stderr}`);
  }
});
