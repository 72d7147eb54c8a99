// How long does nftables mode take from what the cluster says to what the kernel holds: everything at first, and then one service?
// The baseline is upstream's layout, a chain and a map for each service, loaded by `nft -f` in the same run, where that ends in
// reasonable time. Everything happens in a network namespace of its own; each size has a fresh process.
// Arguments: sizes as services x endpoints (1000x2 10000x2 30000x2 100000x2 1000x250).
import { execFileSync, spawnSync } from 'node:child_process';
import { parseEndpointSlice, parseService } from '../src/api/parse.ts';
import { Nftables } from '../src/kernel/nftables.ts';
import { continueInSandbox } from '../src/lab/sandbox.ts';
import { NftablesDriver } from '../src/modes/nftables/apply.ts';
import type { KernelState, NftablesChange } from '../src/modes/nftables/diff.ts';
import type { NftablesFacts } from '../src/modes/nftables/facts.ts';
import { nftablesMode } from '../src/modes/nftables/nftables.ts';
import type { NftablesPlan } from '../src/modes/nftables/plan.ts';
import { type FamilyState, NOTHING_OWED, sync } from '../src/pipeline.ts';
import { Tracker } from '../src/track/tracker.ts';

continueInSandbox(import.meta.url);

const CHANGES = 41;
const MAX_BASELINE = 10_000;
const FACTS: NftablesFacts = {
  family: 'IPv4',
  masqueradeMark: 1 << 14,
  masqueradeAll: false,
  nodePortAddresses: { kind: 'some', ips: ['192.0.2.10'] },
  localhostNodePorts: false,
  detector: { kind: 'source', cidr: '10.244.0.0/16' },
  hasCounters: false,
  releasesChainsAtOnce: true,
};

type Node = FamilyState<NftablesFacts, NftablesPlan, KernelState, NftablesChange, NftablesDriver>;

interface Figures {
  readonly firstMs: number;
  readonly planMs: number;
  readonly applyMs: number;
  readonly changeMs: number;
  readonly slowestMs: number;
  readonly residentMb: number;
  readonly baselineMs: number | undefined;
}

if (process.argv[2] === '--one')
  console.log(JSON.stringify(await measure(Number(process.argv[3]), Number(process.argv[4]))));
else main(process.argv.length > 2 ? process.argv.slice(2) : ['1000x2', '10000x2', '30000x2', '100000x2', '1000x250']);

function main(sizes: readonly string[]): void {
  const rows = sizes.map((size) => {
    const [services, endpoints] = size.split('x') as [string, string];
    const args = ['--expose-gc', import.meta.filename, '--one', services, endpoints];
    const { stdout, status } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`${size} failed`);
    const figures = JSON.parse(stdout) as Figures;
    const { baselineMs } = figures;
    return {
      'services x endpoints': size,
      'first sync ms': Math.round(figures.firstMs),
      'of it plan': Math.round(figures.planMs),
      'encode + kernel': Math.round(figures.applyMs),
      'one change ms': Number(figures.changeMs.toFixed(2)),
      'slowest of 41': Number(figures.slowestMs.toFixed(2)),
      'resident MB': Math.round(figures.residentMb),
      'nft -f, chains ms': baselineMs === undefined ? '-' : Math.round(baselineMs),
      ratio: baselineMs === undefined ? '-' : `${Math.round(baselineMs / figures.firstMs)}x`,
    };
  });
  console.table(rows);
}

async function measure(services: number, endpoints: number): Promise<Figures> {
  const tracker = new Tracker();
  for (let i = 0; i < services; i++) set(tracker, i, endpoints, 0);
  const nftables = new Nftables();
  const node: Node = {
    family: 'IPv4',
    tracker,
    identity: { nodeName: 'n1', nodeIPs: { IPv4: '192.0.2.10', IPv6: '::1' }, allowsExternalIPs: true },
    mode: nftablesMode,
    drivers: new NftablesDriver(nftables, 'IPv4', FACTS.hasCounters),
    probe: async () => FACTS,
    held: undefined,
    owed: NOTHING_OWED,
  };
  const [firstMs, stages] = await timed(() => sync(node));
  const at = (name: string): number => stages.stages.find((stage) => stage.name === name)?.atMs ?? 0;
  const changes: number[] = [];
  for (let i = 0; i < CHANGES; i++) {
    set(tracker, (i * 7919) % services, endpoints, 1 + i);
    changes.push((await timed(() => sync(node)))[0]);
  }
  changes.sort((a, b) => a - b);
  globalThis.gc?.();
  const residentMb = process.memoryUsage.rss() / 2 ** 20;
  nftables.close();
  execFileSync('nft', ['flush', 'ruleset']);
  return {
    firstMs,
    planMs: at('plan'),
    applyMs: at('apply') - at('diff'),
    changeMs: changes[CHANGES >> 1]!,
    slowestMs: changes.at(-1)!,
    residentMb,
    baselineMs: services <= MAX_BASELINE ? baseline(services, endpoints) : undefined,
  };
}

async function timed<T>(work: () => Promise<T>): Promise<[number, T]> {
  const startedAt = performance.now();
  const result = await work();
  return [performance.now() - startedAt, result];
}

function set(tracker: Tracker, i: number, endpoints: number, version: number): void {
  const metadata = { namespace: `team-${i % 100}`, name: `service-${i}`, resourceVersion: `${version}` };
  const service = { metadata, spec: { clusterIP: clusterIp(i), ports: [{ name: 'http', port: 80 }] } };
  const slice = {
    metadata: { ...metadata, name: `service-${i}-1`, labels: { 'kubernetes.io/service-name': metadata.name } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: Array.from({ length: endpoints }, (_, k) => ({
      addresses: [endpointIp(i * endpoints + k + version)],
      nodeName: 'n2',
    })),
  };
  const name = `${metadata.namespace}/${metadata.name}`;
  tracker.setService(name, parseService(service).value);
  tracker.setSlice(`${name}-1`, parseEndpointSlice(slice).value);
}

function baseline(services: number, endpoints: number): number {
  const lines = ['table ip kube-proxy {'];
  for (let i = 0; i < services; i++) {
    const backends = Array.from({ length: endpoints }, (_, k) => `${k} : ${endpointIp(i * endpoints + k)} . 8080`);
    const name = `service-ABCDEFGH-team-${i % 100}/service-${i}/tcp/http`;
    lines.push(
      `chain ${name} { meta l4proto tcp dnat ip to numgen random mod ${endpoints} map { ${backends.join(', ')} }`,
      '}',
    );
  }
  lines.push('map service-ips { type ipv4_addr . inet_proto . inet_service : verdict');
  const rows = Array.from(
    { length: services },
    (_, i) => `${clusterIp(i)} . tcp . 80 : goto service-ABCDEFGH-team-${i % 100}/service-${i}/tcp/http`,
  );
  lines.push(`elements = { ${rows.join(',\n')} } }`, '}');
  const startedAt = performance.now();
  execFileSync('nft', ['-f', '-'], { input: lines.join('\n') });
  return performance.now() - startedAt;
}

function clusterIp(i: number): string {
  return `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
}

function endpointIp(i: number): string {
  return `10.${128 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
}
