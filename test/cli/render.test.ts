import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), 'portolan-render-'));
after(() => rmSync(FOLDER, { recursive: true }));

interface Result {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** From another directory, as a user may. */
function render(args: readonly string[], input?: string): Result {
  return spawnSync(join(ROOT, 'bin/portolan'), ['render', ...args], {
    cwd: FOLDER,
    encoding: 'utf8',
    ...(input === undefined ? {} : { input }),
  });
}

function file(name: string, text: string): string {
  const path = join(FOLDER, name);
  writeFileSync(path, text);
  return path;
}

const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name: 'cart' },
  spec: { clusterIP: '10.99.0.21', ports: [{ name: 'http', port: 80 }] },
};
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: 'shop', name: 'cart-1', labels: { 'kubernetes.io/service-name': 'cart' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.66.1.7'], nodeName: 'worker-7' }],
  ports: [{ name: 'http', port: 8080 }],
};
const ENDPOINTS = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { namespace: 'shop', name: 'cart' },
  subsets: [{ addresses: [{ ip: '10.66.1.7', nodeName: 'worker-7' }], ports: [{ name: 'http', port: 8080 }] }],
};

test('YAML, JSON, lists, folders and standard input give the same rules', () => {
  const wanted = render([
    '-f',
    file('list.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [SERVICE, SLICE] })),
  ]).stdout;
  assert.match(wanted, /KUBE-SVC-I5LIAMPLWKMBJ54B/);
  const yaml = `---\n${JSON.stringify(SERVICE)}\n---\n${JSON.stringify(SLICE)}\n`;
  assert.equal(render(['-f', file('both.yaml', yaml)]).stdout, wanted);
  assert.equal(render(['-f', '-'], yaml).stdout, wanted);
  assert.equal(
    render(['-f', file('service.json', JSON.stringify(SERVICE)), '-f', file('slice.yml', JSON.stringify(SLICE))])
      .stdout,
    wanted,
  );
  const { kind: _, ...item } = SERVICE;
  assert.equal(
    render(['-f', '-'], `${JSON.stringify({ kind: 'ServiceList', items: [item] })}`).stdout.includes('10.99.0.21'),
    true,
  );
});

test('old Endpoints count where there is no slice', () => {
  const { stdout } = render(['-f', '-'], `${JSON.stringify(SERVICE)}\n---\n${JSON.stringify(ENDPOINTS)}`);
  assert.match(stdout, /--to-destination 10\.66\.1\.7:8080/);
});

test('the configuration file decides on detection, masquerading and node-port addresses', () => {
  const config = file(
    'config.yaml',
    'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nhostnameOverride: worker-7\nclusterCIDR: 10.66.0.0/16\niptables: {masqueradeBit: 15}\n',
  );
  const { stdout, stderr } = render(
    ['-f', '-', '--config', config],
    JSON.stringify(SERVICE) + JSON.stringify(SLICE).replace(/^/, '\n---\n'),
  );
  assert.match(stdout, /! -s 10\.66\.0\.0\/16 -j KUBE-MARK-MASQ/);
  assert.match(stdout, /--or-mark 0x00008000/);
  assert.equal(stderr, '');
});

test('node-port addresses may name the loopback that every host has', () => {
  const config = file(
    'loopback.json',
    JSON.stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      nodePortAddresses: ['127.0.0.0/8'],
    }),
  );
  const rules = (family: string): string =>
    render(['-f', file('one.json', JSON.stringify(SERVICE)), '--config', config, '--family', family]).stdout;
  assert.match(rules('ipv4'), /must be the last rule in this chain" -d 127\.0\.0\.1 -j KUBE-NODEPORTS/);
  assert.match(rules('ipv6'), /must be the last rule in this chain" -m addrtype --dst-type LOCAL ! -d ::1\/128 /);
});

test('external IPs are not served where the feature gate forbids them', () => {
  const config = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
  const forbidding = file('gate.yaml', `${config}featureGates: {AllowServiceExternalIPs: false}\n`);
  const exposed = JSON.stringify({ ...SERVICE, spec: { ...SERVICE.spec, externalIPs: ['198.51.100.9'] } });
  assert.match(render(['-f', '-', '--config', file('plain.yaml', config)], exposed).stdout, /-d 198\.51\.100\.9/);
  assert.doesNotMatch(render(['-f', '-', '--config', forbidding], exposed).stdout, /-d 198\.51\.100\.9/);
});

test('json has the rules, the model and the problems', () => {
  const odd = { ...SERVICE, spec: { ...SERVICE.spec, externalIPs: ['10.0.0'] } };
  const { stdout, stderr } = render(
    ['-f', '-', '-o', 'json', '--node', 'worker-7'],
    JSON.stringify(odd) + JSON.stringify(SLICE).replace(/^/, '\n---\n'),
  );
  const { families, problems } = JSON.parse(stdout) as {
    families: { family: string; rules: string[]; services: { name: string }[] }[];
    problems: object[];
  };
  assert.deepEqual(
    families.map(({ family }) => family),
    ['IPv4', 'IPv6'],
  );
  assert.equal(families[0]!.services[0]!.name, 'cart');
  assert.deepEqual(problems, [
    {
      object: 'Service shop/cart',
      field: 'spec.externalIPs[0]',
      reason: 'not an IP address: "10.0.0"; this entry is left out',
    },
  ]);
  assert.match(stderr, /warning: Service shop\/cart: spec\.externalIPs\[0\]: not an IP address/);
});

test('mistakes are told in a sentence and end with code 2', () => {
  const missing = render(['-f', '/nowhere.yaml']);
  assert.deepEqual([missing.status, missing.stdout], [2, '']);
  assert.equal(missing.stderr, 'portolan render: -f /nowhere.yaml: no such file or folder\n');
  assert.match(render(['-f', file('bad.yaml', 'a: [')]).stderr, /bad\.yaml: not YAML/);
  assert.match(render(['--colour']).stderr, /Unknown option '--colour'.*see portolan render --help/s);
  assert.match(render(['-f', '-', '--mode', 'hand'], '').stderr, /must be iptables, ipvs, nftables or blank/);
  assert.equal(render(['--help']).status, 0);
});

test('a node of both families has the node ports of IPVS mode in the family that is asked for alone', () => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'worker-7' },
    status: { addresses: ['192.0.2.7', '2001:db8::7'].map((address) => ({ type: 'InternalIP', address })) },
  };
  const service = { ...SERVICE, spec: { ...SERVICE.spec, type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] } };
  const objects = [node, service].map((object) => JSON.stringify(object)).join('\n---\n');
  const { stdout } = render(['-f', '-', '--mode', 'ipvs', '--node', 'worker-7'], objects);
  assert.match(stdout, /^-A -t 192\.0\.2\.7:30080 -s rr$/m);
  assert.doesNotMatch(stdout, /2001:db8/);
});
