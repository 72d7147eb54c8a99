// trace, explain, verify, diff and doctor as users type them, in the modes that balance by other means than rules.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), 'portolan-trace-modes-'));
after(() => rmSync(FOLDER, { recursive: true }));

const SITUATION = ['-f', 'examples/yaobank.yaml', '--node', 'node1', '--cluster-cidr', '10.244.0.0/16'];

function portolan(...args: readonly string[]): { readonly text: string; readonly status: number | null } {
  const { stdout, stderr, status } = spawnSync('bin/portolan', [...args, ...SITUATION], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { text: stdout + stderr, status };
}

function file(name: string, text: string): string {
  const path = join(FOLDER, name);
  writeFileSync(path, text);
  return path;
}

for (const mode of ['ipvs', 'userspace']) {
  describe(`in ${mode} mode`, () => {
    test('trace ends in a sentence', () => {
      const { text } = portolan('trace', '--from', 'outside', '--to', 'summary', '--mode', mode);
      assert.match(
        text,
        /Half go to 10\.244\.1\.11:80 on this node, half to 10\.244\.2\.11:80 on node2; the endpoints see the node’s/,
      );
    });

    test('explain tells endpoints, who gets what, and what is there for it', () => {
      const { text, status } = portolan('explain', 'service', 'customer', '--mode', mode);
      assert.equal(status, 0);
      assert.match(text, /10\.244\.1\.10:80 +node1 .*used by everybody/);
      assert.match(text, /an outside client +→ 192\.168\.50\.1:30180 +Everything goes to 10\.244\.1\.10:80/);
      assert.match(text, mode === 'ipvs' ? /add KUBE-NODE-PORT-TCP 30180/ : /connects to 10\.244\.1\.10:80/);
    });

    test('what is planned does what the objects mean', () => {
      const { text, status } = portolan('verify', '--mode', mode);
      assert.equal(status, 0, text);
    });

    test('doctor finds nothing wrong with a Service that is well', () =>
      assert.match(portolan('doctor', 'customer', '--mode', mode).text, /Nothing is wrong/));
  });
}

test('IPVS mode is verified from what its tools save, and what is missing is told', () => {
  const saved = portolan('render', '--mode', 'ipvs').text;
  const whole = portolan('verify', '--mode', 'ipvs', '--family', 'ipv4', '--rules', file('whole', saved));
  assert.equal(whole.status, 0, whole.text);
  const damaged = file(
    'damaged',
    saved.replace(/^-a -t 10\.96\.20\.10:80 .*\n/m, '').replace(/^add KUBE-NODE-PORT-TCP.*\n/m, ''),
  );
  const { text, status } = portolan('diff', '--mode', 'ipvs', '--family', 'ipv4', '--rules', damaged);
  assert.equal(status, 1);
  assert.match(text, /ipset KUBE-NODE-PORT-TCP\n- 30180\nip_vs TCP 10\.96\.20\.10:80\n- 10\.244\.1\.10:80 : -w 1\n/);
});

test('where a scheduler goes by addresses, the shares are said to be those of many clients', () => {
  const config = file(
    'config',
    'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: ipvs\nipvs: { scheduler: sh }\n',
  );
  const { text } = portolan('trace', '--from', 'outside', '--to', 'summary', '--config', config);
  assert.match(text, /only if scheduler sh chooses it for this client/);
  assert.match(text, /scheduler sh gives each client one of them, so these are the shares of many clients/);
});

test('texts that cannot tell enough are refused with the reason', () => {
  const rules = file('rules', '*nat\nCOMMIT\n');
  assert.match(
    portolan('verify', '--mode', 'ipvs', '--rules', rules).text,
    /add the texts of ipset save and ipvsadm -Sn/,
  );
  const named = file('named', portolan('render', '--mode', 'userspace').text);
  assert.match(
    portolan('verify', '--mode', 'userspace', '--rules', named).text,
    /relays have ports only while they run/,
  );
});
