// How long from a change at the API server until iptables-restore is done, and what does the running agent cost in memory and
// CPU? The bundle, as it is installed, in a network namespace; the API server in this process. Arguments: the numbers of
// Services (100 1000 10000), each with two endpoints. Upstream's figures are those it was measured with, on another day.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kubeconfigText } from '../src/lab/apiserver/kubeconfig.ts';
import { type ApiServer, startApiServer } from '../src/lab/apiserver/server.ts';
import { type HostProcess, Network } from '../src/lab/network/network.ts';
import { medianMsAsync } from './support/measure.ts';
import { count, duration, printTable } from './support/table.ts';

const SIZES = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [100, 1000, 10_000];
const ROUNDS = { warmUp: 3, measured: 15 };
/** As bin/portolan starts it. */
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1', '--no-opt', '--no-maglev'];
const TICK_MS = 10; // of the times in /proc/PID/stat

/** v1.36.4 in iptables mode, with iptables-nft 1.8.9 and two endpoints for each Service. Its change is the way from the answer to
 *  a POST to the first connection through a new Service. */
const UPSTREAM: Readonly<Record<number, { memory: string; firstSync: string; change: string }>> = {
  1000: { memory: '80 MB', firstSync: '', change: '' },
  10000: { memory: '184 MB', firstSync: '72.8 s', change: '1.70 s' },
};

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundle = join(root, 'node_modules/.cache/portolan-bench'); // where it finds the package that stays outside of it
const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-'));
const rows: Record<string, string>[] = [];
try {
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts'), bundle], { stdio: 'inherit' });
  if (built.status !== 0) throw new Error('the bundle could not be built');
  for (const services of SIZES) rows.push(await measure(services));
  printTable('The agent in iptables mode: from a change at the API server to rules in the kernel, memory, CPU', rows);
} finally {
  rmSync(folder, { recursive: true });
  rmSync(bundle, { recursive: true, force: true });
}

async function measure(services: number): Promise<Record<string, string>> {
  const network = await Network.open({ hosts: [{ name: 'n1' }], links: [] });
  const server = await startApiServer({ serviceCIDRs: ['10.96.0.0/12'] });
  try {
    server.apply(node());
    for (let i = 0; i < services; i++) {
      server.apply(service(i));
      server.apply(slice(i, 0));
    }
    const startedAt = performance.now();
    const agent = await startAgent(network, server);
    await agent.synced(RegExp(`services=${services} `));
    const firstSyncMs = performance.now() - startedAt;
    const atStart = await usage(network, agent.process);

    const changeMs = await medianMsAsync(ROUNDS, async (round) => {
      const done = agent.synced(/changed=1 /);
      server.apply(slice((round * 7919) % services, round + 1));
      await done;
    });
    const later = await usage(network, agent.process);
    const changes = ROUNDS.warmUp + ROUNDS.measured;
    const upstream = UPSTREAM[services];
    await agent.process.kill('SIGTERM');
    await agent.process.exited;
    return {
      Services: count(services),
      'first sync': duration(firstSyncMs),
      'upstream’s': upstream?.firstSync ?? '',
      'a change': duration(changeMs),
      'upstream’s change': upstream?.change ?? '',
      'memory at start': megabytes(atStart.residentKb),
      'after changes': megabytes(later.residentKb),
      'at most': megabytes(later.peakKb),
      'upstream’s memory': upstream?.memory ?? '',
      'CPU for a change': duration((later.ownMs - atStart.ownMs) / changes),
      'in iptables-restore': duration((later.toolsMs - atStart.toolsMs) / changes),
    };
  } finally {
    await server.close();
    await network.close();
  }
}

interface RunningAgent {
  readonly process: HostProcess;
  /** Resolves when the agent has said that it synced IPv4, with something like this in the line. */
  synced(detail: RegExp): Promise<void>;
}

async function startAgent(network: Network, server: ApiServer): Promise<RunningAgent> {
  const kubeconfig = join(folder, 'kubeconfig');
  const port = await network.forward('n1', 0, server.port);
  writeFileSync(kubeconfig, kubeconfigText({ url: `http://127.0.0.1:${port}` }));
  const flags = ['--hostname-override=n1', '--cluster-cidr=10.244.0.0/16', '--iptables-min-sync-period=0', '-v=2'];
  const program = [process.execPath, ...NODE_FLAGS, join(bundle, 'portolan.mjs')];
  const started = await network.spawnIn('n1', [...program, `--kubeconfig=${kubeconfig}`, ...flags], {
    env: { ...process.env, PORTOLAN_PROGRAM: 'kube-proxy' },
  });
  const ended = started.exited.then(() => Promise.reject(new Error('the agent ended')));
  ended.catch(() => {}); // also when nobody waits
  let text = '';
  let onLine: (line: string) => void = () => {};
  started.stderr.on('data', (chunk: Buffer) => {
    const lines = `${text}${chunk}`.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  const synced = (detail: RegExp): Promise<void> => {
    const said = new Promise<void>((resolve) => {
      onLine = (line) => {
        if (line.includes('"Synced" ipFamily="IPv4"') && detail.test(line)) resolve();
      };
    });
    return Promise.race([said, ended]);
  };
  return { process: started, synced };
}

interface Usage {
  readonly residentKb: number;
  readonly peakKb: number;
  /** CPU of the agent, and of the programs it has run. */
  readonly ownMs: number;
  readonly toolsMs: number;
}

async function usage(network: Network, { pid }: HostProcess): Promise<Usage> {
  const { stdout: status } = await network.exec('n1', ['cat', `/proc/${pid}/status`]);
  const { stdout: stat } = await network.exec('n1', ['cat', `/proc/${pid}/stat`]);
  const kb = (field: string): number => Number(RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  // After the name in parentheses: state, and utime, stime, cutime, cstime as the 12th to 15th fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number) as [number, number, number, number];
  return {
    residentKb: kb('VmRSS'),
    peakKb: kb('VmHWM'),
    ownMs: (user + system) * TICK_MS,
    toolsMs: (childUser + childSystem) * TICK_MS,
  };
}

function node() {
  const status = { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, status };
}

function service(i: number) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'bench', name: `service-${i}` },
    spec: { clusterIP: `10.97.${i >> 8}.${i & 255}`, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
}

/** The second endpoint moves from version to version. */
function slice(i: number, version: number) {
  const name = `service-${i}`;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'bench', name: `${name}-abcde`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [`10.244.${i >> 8}.${i & 255}`, `10.245.${version}.${i & 255}`].map((ip, pod) => ({
      addresses: [ip],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${(i + pod) % 100}`,
      zone: `zone-${i % 3}`,
      targetRef: { kind: 'Pod', namespace: 'bench', name: `${name}-6d9f7c-${pod}` },
    })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}

function megabytes(kilobytes: number): string {
  return `${Math.round(kilobytes / 1024)} MB`;
}
