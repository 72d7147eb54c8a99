// The commands with objects from an API server instead of files.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { request, withServer } from '../agent/apiserver-support.ts';
import { GOLDEN_NODES, type Manifest } from '../support/golden.ts';
import { FAULTY_CLUSTER } from '../support/verify.ts';

const PORTOLAN = fileURLToPath(new URL('../../bin/portolan', import.meta.url));

test('trace and verify take a cluster from its API server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-kubeconfig-'));
  try {
    await withServer({ serviceCIDRs: ['10.96.0.0/12'] }, async (server) => {
      await request(server, 'POST', '/api/v1/namespaces', { metadata: { name: 'demo' } });
      for (const manifest of [...GOLDEN_NODES, ...FAULTY_CLUSTER]) {
        const { status, body } = await request(server, 'POST', pathOf(manifest), manifest);
        assert.ok(status < 300 || status === 409, body.message);
      }
      const kubeconfig = join(folder, 'kubeconfig');
      writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(server.url)));
      const run = async (...args: readonly string[]): Promise<string> => {
        const situation = ['--kubeconfig', kubeconfig, '--node', 'n1', '--cluster-cidr', '10.244.0.0/16'];
        return (await promisify(execFile)(PORTOLAN, [...args, ...situation])).stdout;
      };
      assert.match(
        await run('trace', '--from', 'pod', '--to', 'demo/plain'),
        /A third go to 10\.244\.1\.11:8080 on this node/,
      );
      assert.match(await run('verify', '--mode', 'nftables'), /IPv4: \d+ services.*\n✓ all agree/);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function pathOf({ kind, metadata }: Manifest): string {
  switch (kind) {
    case 'Service':
      return `/api/v1/namespaces/${metadata.namespace}/services`;
    case 'EndpointSlice':
      return `/apis/discovery.k8s.io/v1/namespaces/${metadata.namespace}/endpointslices`;
    default:
      return `/api/v1/nodes`;
  }
}

function kubeconfigFor(server: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
}
