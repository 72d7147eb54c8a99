// What does a Service cost its clients in each mode, with few Services and with many? A client outside asks a pod on another node
// through n1 of a test network, where the real agent works: exchanges a second, each over a new connection, and megabytes a second over
// one. A twin of that network has no proxy. Both are asked in turn, in many short rounds, so that what else the machine does falls on both
// alike. It only ever slows down, so what counts are the quickest tenth of the rounds, and their ratio.
// Where this kernel has no IPVS, all modes are measured once more in the test machine, whose kernel has it.
// Arguments: numbers of Services (10 5000), names of modes (all); --here: not in the test machine; --there: only in it.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '../src/lab/apiserver/object.ts';
import { startApiServer } from '../src/lab/apiserver/server.ts';
import { golden as goldenTopology } from '../src/lab/network/golden.ts';
import { type HostProcess, Network } from '../src/lab/network/network.ts';
import { MODES, type ModeName } from '../src/modes/mode.ts';
import { TestAgent } from '../test/support/agent.ts';
import { GOLDEN_NODES } from '../test/support/golden.ts';
import { machine, runInMachine } from '../test/vm/machine.ts';
import type { Figures } from './modes-client.ts';
import { ASKED, POD, PORTS, services } from './modes-services.ts';
import { count, printTable, ratio } from './support/table.ts';

const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const AGENT = program('../src/cli/main.ts');
const CLIENT = program('modes-client.ts');
const SOURCE = program('../test/packets/userspace-load.ts');
const PATIENCE_MS = 20 * 60_000;

const args = process.argv.slice(2);
const flags = args.filter((argument) => argument.startsWith('--'));
const sizes = args.filter((argument) => /^\d+$/.test(argument)).map(Number);
const wanted = MODES.filter((mode) => args.includes(mode));
/** How much is asked, and how often: everything takes many times as long in the test machine, which is emulated. */
const work = flags.includes('--in-machine')
  ? { rounds: 20, exchanges: 20, megabytes: 2 }
  : { rounds: 60, exchanges: 50, megabytes: 16 };

interface Round {
  readonly bare: Figures;
  readonly proxied: Figures;
}

interface Row {
  readonly mode: string;
  readonly size: number;
  readonly rounds: readonly Round[];
}

const bare = await open();
const proxied = await open();
const hasIpvs = (await proxied.exec('n1', ['ipvsadm', '-Ln'])).status === 0;
try {
  if (!flags.includes('--there')) await runHere();
} finally {
  await bare.close();
  await proxied.close();
}
if (!hasIpvs && !flags.includes('--here')) await runThere();

async function runHere(): Promise<void> {
  const asking = await client(bare, POD, PORTS);
  const modes = (wanted.length > 0 ? wanted : MODES).filter((mode) => hasIpvs || mode !== 'ipvs');
  const rows: Row[] = [];
  for (const size of sizes.length > 0 ? sizes : [10, 5000]) {
    for (const mode of modes) {
      const row = { mode, size, rounds: await measured(mode, size, asking) };
      console.error(Object.values(cells(row)).join('  ')); // the way is long
      rows.push(row);
    }
  }
  show(rows);
}

async function open(): Promise<Network> {
  const network = await Network.open(goldenTopology);
  const bytes = String(work.megabytes << 20);
  await network.spawnIn('b1', [process.execPath, SOURCE, 'source', String(PORTS.source), bytes]);
  return network;
}

async function measured(mode: ModeName, size: number, bareClient: HostProcess): Promise<Round[]> {
  const server = await startApiServer({ serviceCIDRs: ['10.96.0.0/11'] });
  server.seed([...GOLDEN_NODES, ...services(size)] as KubeObject[]);
  const agent = await TestAgent.start(proxied, server, {
    config: { mode, ...(mode === 'userspace' && { featureGates: { PortolanUserspaceMode: true } }) },
  });
  try {
    await agent.said(new RegExp(`"Synced" ipFamily="IPv4" services=${size} `), 0, PATIENCE_MS);
    await agent.said(/"Synced" ipFamily="IPv6"/, 0, PATIENCE_MS);
    return await askedInTurn(bareClient);
  } finally {
    await agent.stop();
    await server.close();
    await cleanUp();
  }
}

async function askedInTurn(bareClient: HostProcess): Promise<Round[]> {
  const proxiedClient = await client(proxied, ASKED, { answer: 80, source: 81 });
  const rounds: Round[] = [];
  for (let i = 0; i < work.rounds; i++) rounds.push({ bare: await ask(bareClient), proxied: await ask(proxiedClient) });
  await proxiedClient.kill('SIGKILL');
  return rounds;
}

async function cleanUp(): Promise<void> {
  const env = { ...process.env, PORTOLAN_PROGRAM: 'kube-proxy' };
  const { status, stderr } = await proxied.exec('n1', [process.execPath, AGENT, '--cleanup'], { env });
  if (status !== 0) throw new Error(`kube-proxy --cleanup: ${stderr}`);
}

async function client(network: Network, ip: string, ports: typeof PORTS): Promise<HostProcess> {
  const args = [ip, ports.answer, ports.source, work.exchanges].map(String);
  const asking = await network.spawnIn('x', [process.execPath, CLIENT, ...args]);
  asking.stderr.pipe(process.stderr);
  await said(asking);
  return asking;
}

async function ask(asking: HostProcess): Promise<Figures> {
  const answer = said(asking);
  await asking.kill('SIGUSR2');
  return JSON.parse(await answer) as Figures;
}

async function said({ stdout, exited }: HostProcess): Promise<string> {
  const ended = exited.then(() => Promise.reject(new Error('the client ended')));
  const [data] = await Promise.race([once(stdout, 'data'), ended]);
  return String(data);
}

function show(rows: readonly Row[]): void {
  const { rounds, exchanges, megabytes } = work;
  const none = rows.flatMap((row) => row.rounds.map(({ bare }) => ({ bare, proxied: bare })));
  printTable(
    `Through one node, by mode and number of Services (${rounds} rounds of ${exchanges} exchanges and ${megabytes} MB)`,
    [cells({ mode: 'no proxy', size: 0, rounds: none }), ...rows.map(cells)],
  );
}

function cells({ mode, size, rounds }: Row): Record<string, string> {
  const figure = (name: keyof Figures, of: keyof Round): number => quick(rounds.map((round) => round[of][name]));
  return {
    mode,
    Services: size === 0 ? '' : count(size),
    'exchanges/s': count(figure('exchanges', 'proxied')),
    'of no proxy': ratio(figure('exchanges', 'proxied'), figure('exchanges', 'bare')),
    'MB/s': count(figure('megabytes', 'proxied')),
    ' of no proxy': ratio(figure('megabytes', 'proxied'), figure('megabytes', 'bare')),
  };
}

/** What nine of ten do not exceed. */
function quick(values: readonly number[]): number {
  return values.toSorted((a, b) => b - a)[Math.floor(values.length / 10)]!;
}

async function runThere(): Promise<void> {
  const emulated = machine();
  if ('missing' in emulated) {
    console.log(`\nIPVS is left out: ${emulated.missing}`);
    return;
  }
  console.log(
    '\nThis kernel has no IPVS. All modes once more, in an emulated machine whose kernel has it: only ratios count.',
  );
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', program('modes.ts')];
  const {
    status,
    output,
    console: screen,
  } = await runInMachine(emulated, [...command, '--in-machine', '--here', ...sizes.map(String), ...wanted], {
    timeoutMs: 2 * PATIENCE_MS,
  });
  console.log(status === 0 ? output : `It failed: ${output || screen.slice(-2000)}`);
  if (status !== 0) process.exitCode = 1;
}
