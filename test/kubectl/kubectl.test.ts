// What people type, with the real kubectl: the embedded server must answer as a cluster does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { installedKubectls, type Terminal, withTerminal } from './kubectl-support.ts';

const MANIFEST = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cart, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop, labels: {app: cart}}
spec:
  type: NodePort
  selector: {app: cart}
  ports:
  - {name: http, port: 80, targetPort: http, nodePort: 30180}
  - {name: dns, port: 53, protocol: UDP}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      serviceAccountName: cart
      nodeSelector: {kubernetes.io/hostname: node1}
      containers:
      - name: cart
        image: cart:1
        ports: [{name: http, containerPort: 8080}]
        env: [{name: COLOR, value: green}]
        resources: {requests: {cpu: 1, memory: 64Mi}}
        readinessProbe: {httpGet: {path: /, port: http}, periodSeconds: 1}
`;

const programs = installedKubectls();
if (programs.length === 0) test('kubectl drives the API server', (t) => t.skip('no kubectl on this machine'));

for (const program of programs) {
  const { minor, text: version } = versionOf(program);
  const says = (title: string, use: (terminal: Terminal) => Promise<void>) =>
    test(`kubectl ${version}: ${title}`, () => withTerminal(program, use));

  says(
    'a manifest is applied, applied again without a change, changed and deleted',
    async ({ kubectlWith, kubectl, home }) => {
      const file = join(home, 'shop.yaml');
      writeFileSync(file, MANIFEST);
      const first = await kubectl('apply', '-f', file);
      assert.match(
        first,
        /namespace\/shop created\n.*serviceaccount\/cart created\nservice\/cart created\ndeployment.apps\/cart created/s,
      );
      await kubectl('-n', 'shop', 'rollout', 'status', 'deployment/cart', '--timeout=30s');
      const second = await kubectl('apply', '-f', file);
      assert.match(second, /service\/cart unchanged\ndeployment.apps\/cart unchanged/);

      const changed = MANIFEST.replace('COLOR, value: green', 'COLOR, value: blue').replace(
        '{name: dns, port: 53, protocol: UDP}',
        '{name: dns, port: 54, protocol: UDP}',
      );
      assert.match(
        await kubectlWith({ stdin: changed }, 'apply', '-f', '-'),
        /service\/cart configured\ndeployment.apps\/cart configured/,
      );
      assert.match(
        await kubectl('-n', 'shop', 'get', 'svc', 'cart'),
        /cart +NodePort +10\.96\.\S+ +<none> +80:30180\/TCP,54:\d+\/UDP/,
      );
      assert.match(
        await kubectlWith({ stdin: changed }, 'apply', '--dry-run=server', '-f', '-'),
        /service\/cart unchanged \(server dry run\)/,
      );
      await kubectl('-n', 'shop', 'rollout', 'status', 'deployment/cart', '--timeout=30s');

      assert.match(await kubectl('delete', '-f', file), /namespace "shop" deleted/);
      assert.doesNotMatch(await kubectl('get', 'namespaces'), /shop/);
    },
  );

  says('a deployment is created, exposed, scaled, rolled out, undone and deleted', async ({ kubectl, runtime }) => {
    assert.match(
      await kubectl('create', 'deployment', 'web', '--image=nginx:1', '--replicas=3'),
      /deployment.apps\/web created/,
    );
    assert.match(await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s'), /successfully rolled out/);
    const pods = await kubectl('get', 'pods', '-o', 'wide');
    assert.match(pods, /^NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\n/);
    assert.match(pods, /web-\S+ +1\/1 +Running +0 +\S+ +10\.244\.1\.\d+ +node1/);
    assert.match(pods, /node2/);
    assert.match(await kubectl('get', 'deploy,rs', '-o', 'wide'), /web +3\/3 +3 +3 +\S+ +nginx +nginx:1 +app=web/);

    assert.match(
      await kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080', '--type=LoadBalancer'),
      /service\/web exposed/,
    );
    await kubectl('scale', 'deployment', 'web', '--replicas=1');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    assert.equal(runtime.running.size, 1);
    const service = await kubectl('get', 'svc', 'web', '-o', 'wide');
    assert.match(service, /web +LoadBalancer +10\.96\.\S+ +203\.0\.113\.\d+ +80:3\d{4}\/TCP +\S+ +app=web/);

    await kubectl('set', 'image', 'deployment/web', 'nginx=nginx:2');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    assert.match(await kubectl('rollout', 'history', 'deployment/web'), /1 +<none>\n2 +<none>/);
    await kubectl('rollout', 'undo', 'deployment/web');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    assert.match(
      await kubectl('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}'),
      /^nginx:1$/,
    );

    assert.match(await kubectl('delete', 'deployment', 'web'), /deployment.apps "web" deleted/);
    while (runtime.running.size > 0) await setTimeout(20);
  });

  says('describe tells services, pods, deployments and nodes', async ({ kubectl }) => {
    await kubectl('run', 'solo', '--image=busybox', '--labels=app=solo', '--port=80');
    await kubectl('wait', '--for=condition=Ready', 'pod/solo', '--timeout=30s');
    await kubectl('expose', 'pod', 'solo', '--port=80', '--name=solo');
    const service = await kubectl('describe', 'service', 'solo');
    assert.match(service, /Selector: +app=solo/);
    assert.match(service, /Endpoints: +10\.244\.1\.\d+:80/);
    const pod = await kubectl('describe', 'pod', 'solo');
    assert.match(pod, /Node: +node1\/192\.0\.2\.1/);
    assert.match(pod, /Successfully assigned default\/solo to node1/);
    assert.match(await kubectl('describe', 'node', 'node1'), /default +solo/);
    assert.match(await kubectl('logs', 'solo'), /a line from solo/);
    assert.match(await kubectl('get', 'endpoints,endpointslices'), /endpoints\/solo +10\.244\.1\.\d+:80/);
    assert.match(await kubectl('get', 'events'), /Scheduled +pod\/solo/);
    if (minor >= 26) assert.match(await kubectl('events', '--for=pod/solo'), /Started container solo/);
  });

  says('edit opens the object and sends what changed', async ({ kubectl, kubectlWith, home }) => {
    await kubectl('create', 'service', 'clusterip', 'web', '--tcp=80:8080');
    const editor = join(home, 'editor.sh');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/port: 80$/port: 81/" "$1"\n', { mode: 0o755 });
    assert.match(await kubectlWith({ env: { KUBE_EDITOR: editor } }, 'edit', 'service', 'web'), /service\/web edited/);
    assert.match(await kubectl('get', 'svc', 'web', '-o', 'yaml'), /port: 81\n/);
  });

  says('label, annotate and three kinds of patch', async ({ kubectl }) => {
    await kubectl('create', 'service', 'nodeport', 'web', '--tcp=80:8080');
    await kubectl('label', 'service', 'web', 'tier=front');
    await kubectl('annotate', 'service', 'web', 'note=x');
    assert.match(await kubectl('get', 'svc', '-l', 'tier in (front)', '--show-labels'), /web .*tier=front/);
    assert.match(await kubectl('get', 'svc', '-l', '!tier'), /kubernetes/);
    await kubectl(
      'patch',
      'service',
      'web',
      '-p',
      '{"spec":{"ports":[{"port":80,"name":"http"},{"port":443,"name":"https"}]}}',
    );
    await kubectl('patch', 'service', 'web', '--type=merge', '-p', '{"spec":{"externalTrafficPolicy":"Local"}}');
    await kubectl(
      'patch',
      'service',
      'web',
      '--type=json',
      '-p',
      '[{"op":"add","path":"/spec/sessionAffinity","value":"ClientIP"}]',
    );
    const yaml = await kubectl('get', 'service', 'web', '-o', 'yaml');
    for (const part of [/name: http\n/, /name: https\n/, /externalTrafficPolicy: Local/, /timeoutSeconds: 10800/])
      assert.match(yaml, part);
  });

  says('get -w shows changes as they come', async ({ kubectl, kubectlUntil }) => {
    await kubectl('create', 'service', 'clusterip', 'first', '--tcp=80');
    const seen = await kubectlUntil(
      /second/,
      () => kubectl('create', 'service', 'clusterip', 'second', '--tcp=80'),
      'get',
      'svc',
      '-w',
    );
    assert.match(seen, /^NAME +TYPE/);
  });

  says('what is wrong is told in the words of a cluster', async ({ attempt, kubectlWith, home }) => {
    const file = join(home, 'bad.yaml');
    const refusal = async (spec: string) => {
      writeFileSync(file, `apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: ${spec}\n`);
      const { code, text } = await attempt('apply', '-f', file);
      assert.equal(code, 1);
      return text;
    };
    assert.match(
      await refusal('{ports: [{port: 70000}]}'),
      /The Service "x" is invalid: .*spec.ports\[0\].port: Invalid value: 70000: must be between 1 and 65535, inclusive/s,
    );
    assert.match(await refusal('{selector: {a: b}}'), /spec.ports: Required value/);
    assert.match(
      await refusal('{type: NodePort, ports: [{port: 80, nodePort: 80}]}'),
      /provided port is not in the valid range. The range of valid ports is 30000-32767/,
    );
    assert.match(await refusal('{ports: [{port: 80}], selektor: {a: b}}'), /unknown field "?(spec\.)?selektor/);
    assert.match(await refusal('{ports: [{port: "80"}]}'), /cannot unmarshal string|got "string", expected "integer"/);
    await kubectlWith(
      {
        stdin:
          '{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30080}]}}',
      },
      'create',
      '-f',
      '-',
    );
    assert.match(
      await refusal('{type: NodePort, ports: [{port: 80, nodePort: 30080}]}'),
      /nodePort: Invalid value: 30080: provided port is already allocated/,
    );
    const exec = await attempt('exec', 'x', '--', 'ls');
    assert.match(exec.text, /pods "x" not found|this lab's API server has no pods\/exec/);
    assert.match((await attempt('get', 'jobs')).text, /the server doesn't have a resource type "jobs"/);
    assert.match(
      (await attempt('apply', '--server-side', '-f', file)).text,
      /this lab's API server has no server-side apply/,
    );
  });

  says('cordon and drain move pods to other nodes', async ({ kubectl, runtime }) => {
    await kubectl('create', 'deployment', 'web', '--image=nginx:1');
    await kubectl('scale', 'deployment', 'web', '--replicas=2');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    await kubectl('drain', 'node2', '--timeout=30s');
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=30s');
    assert.match(await kubectl('get', 'nodes'), /node2 +Ready,SchedulingDisabled/);
    assert.doesNotMatch(await kubectl('get', 'pods', '-o', 'wide'), /node2/);
    assert.equal(runtime.running.size, 2);
    await kubectl('uncordon', 'node2');
  });

  says('discovery and explain tell what there is', async ({ kubectl }) => {
    assert.match(await kubectl('api-resources'), /endpointslices +discovery.k8s.io\/v1 +true +EndpointSlice/);
    assert.match(await kubectl('api-versions'), /apps\/v1/);
    assert.match(await kubectl('explain', 'service.spec.ports'), /nodePort\s+<integer>/);
    assert.match(await kubectl('version'), /v1\.36\.4\+portolan-lab/);
  });
}

function versionOf(program: string): { minor: number; text: string } {
  const { stdout } = spawnSync(program, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  const { clientVersion } = JSON.parse(stdout) as { clientVersion: { minor: string; gitVersion: string } };
  return { minor: Number.parseInt(clientVersion.minor, 10), text: clientVersion.gitVersion };
}
