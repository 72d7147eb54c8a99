// The manifests as kubectl builds them: valid, what kubeadm's DaemonSet is, and no right too many.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { decodeDocument } from '../../src/config/decode.ts';
import { settingsOf, withPlatformDefaults } from '../../src/config/defaults.ts';
import { problemsOf } from '../../src/config/validate.ts';
import { readClientConfig, type SecurityContext, type Workload } from './workload.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const OVERLAYS = ['base', 'overlays/least-privilege', 'overlays/nftables'];

const { error } = spawnSync('kubectl', ['version', '--client']);
const needsKubectl = { skip: error ? 'kubectl is not installed' : false };

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
}

function built(folder: string): readonly Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', resolve(DEPLOY, folder)], { encoding: 'utf8' });
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

test('the kustomization in docs/swap.md builds', needsKubectl, () => {
  const page = readFileSync(`${DEPLOY}../docs/swap.md`, 'utf8');
  const kustomization = /```yaml\n(# kustomization\.yaml\n[^`]+)```/.exec(page)?.[1];
  assert.ok(kustomization);
  const folder = mkdtempSync(join(tmpdir(), 'portolan-swap-'));
  try {
    cpSync(DEPLOY, join(folder, 'portolan/deploy'), { recursive: true });
    writeFileSync(join(folder, 'kustomization.yaml'), kustomization);
    for (const file of ['config.conf', 'kubeconfig.conf']) cpSync(`${DEPLOY}base/${file}`, join(folder, file));
    const [container] = one<Workload>(built(folder), 'DaemonSet').spec.template.spec.containers;
    assert.equal(container?.image, 'registry.example/portolan:0.1.0');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function one<T = Manifest>(manifests: readonly Manifest[], kind: string): T {
  const found = manifests.filter((manifest) => manifest.kind === kind);
  assert.equal(found.length, 1, `one ${kind}`);
  return found[0] as T;
}

for (const folder of OVERLAYS) {
  test(`${folder} builds, with everything in kube-system under kubeadm's names`, needsKubectl, () => {
    const manifests = built(folder);
    assert.deepEqual(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
      'ClusterRole portolan',
      'ClusterRoleBinding portolan',
      'ConfigMap kube-proxy',
      'DaemonSet kube-proxy',
      'ServiceAccount kube-proxy',
    ]);
    for (const { kind, metadata } of manifests) {
      assert.equal(metadata.namespace, kind.startsWith('Cluster') ? undefined : 'kube-system', kind);
    }
  });

  test(`${folder} has a configuration that the agent accepts, and a kubeconfig it can read`, needsKubectl, () => {
    const { data = {} } = one(built(folder), 'ConfigMap');
    const decoded = decodeDocument(data['config.conf']!);
    assert.ok('document' in decoded);
    const settings = withPlatformDefaults(settingsOf(decoded.document));
    assert.deepEqual(problemsOf(settings), []);
    assert.equal(settings.mode, folder.endsWith('nftables') ? 'nftables' : 'iptables');
    assert.equal(settings.clientConnection.kubeconfig, '/var/lib/kube-proxy/kubeconfig.conf');
    const kubeconfig = readClientConfig(parse(data['kubeconfig.conf']!));
    assert.equal(kubeconfig.tokenFile, '/var/run/secrets/kubernetes.io/serviceaccount/token');
    assert.match(kubeconfig.server, /^https:/);
  });

  test(`${folder} runs as kubeadm's DaemonSet does`, needsKubectl, () => {
    const { spec } = one<Workload>(built(folder), 'DaemonSet');
    const pod = spec.template.spec;
    assert.deepEqual(spec.selector.matchLabels, { 'k8s-app': 'kube-proxy' });
    assert.deepEqual(spec.template.metadata.labels, spec.selector.matchLabels);
    assert.equal(pod.hostNetwork, true);
    assert.equal(pod.priorityClassName, 'system-node-critical');
    assert.equal(pod.serviceAccountName, 'kube-proxy');
    assert.deepEqual(pod.tolerations, [{ operator: 'Exists' }]);
    const volumes = pod.volumes.map(({ name }) => name);
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      assert.deepEqual(container.command.slice(0, 3), [
        '/usr/local/bin/kube-proxy',
        '--config=/var/lib/kube-proxy/config.conf',
        '--hostname-override=$(NODE_NAME)',
      ]);
      assert.deepEqual(
        container.volumeMounts.map(({ name }) => name),
        volumes,
      );
      assert.equal(container.image, pod.containers[0]!.image);
    }
  });
}

for (const folder of OVERLAYS.slice(1)) {
  test(`${folder} leaves the agent NET_ADMIN and nothing else`, needsKubectl, () => {
    const { containers, initContainers = [] } = one<Workload>(built(folder), 'DaemonSet').spec.template.spec;
    const expected: SecurityContext = {
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
      seccompProfile: { type: 'RuntimeDefault' },
    };
    assert.deepEqual(
      containers.map(({ securityContext }) => securityContext),
      [expected],
    );
    assert.deepEqual(
      initContainers.map(({ command }) => command.at(-1)),
      ['--init-only'],
    );
  });
}
