// The agent as a program in a host of the machine: how it is started there, and what the host's kernel holds, as the system's tools
// tell it.
import assert from 'node:assert/strict';
import type { Network } from '../../../src/lab/network/network.ts';
import type { TestAgent } from '../../support/agent.ts';
import type { AgentBed } from '../../support/agent-bed.ts';
import { normalServers, normalSets } from '../recorded.ts';

/** Where the bundle is: from source, a program starts five times slower in an emulated machine. */
const MAIN = process.env.PORTOLAN_BUNDLE;

const START_MS = 120_000;

export type AgentMode = 'iptables' | 'nftables' | 'ipvs' | 'userspace';

/** An answer takes longer in an emulated machine than relays wait for one. */
const USERSPACE = { featureGates: { PortolanUserspaceMode: true }, portolan: { udpIdleTimeout: '10s' } };

/** Resolves when both families are synced. The agent before is stopped. */
export async function startAgent(
  bed: AgentBed,
  mode: AgentMode,
  config: Readonly<Record<string, unknown>> = {},
): Promise<TestAgent> {
  const agent = await bed.start({
    ...(MAIN !== undefined && { main: MAIN }),
    config: { mode, ...config, ...USERSPACE },
  });
  await agent.said(/"Synced" ipFamily="IPv4"/, 0, START_MS);
  await agent.said(/"Synced" ipFamily="IPv6"/, 0, START_MS);
  return agent;
}

/** Runs the program itself with flags of its own, to its end. */
export async function runProgram(network: Network, ...args: readonly string[]): Promise<string> {
  const main = MAIN ?? 'src/cli/main.ts';
  const argv = [process.execPath, '--disable-warning=ExperimentalWarning', main, ...args];
  const env = { ...process.env, PORTOLAN_PROGRAM: 'kube-proxy' };
  const { status, stdout, stderr } = await network.exec('n1', argv, { env });
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

export async function tool(network: Network, ...argv: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await network.exec('n1', argv);
  assert.equal(status, 0, `${argv.join(' ')}: ${stderr}`);
  return stdout;
}

/** Everything a mode may leave on a host. */
export interface HostState {
  readonly servers: readonly string[];
  readonly sets: readonly string[];
  /** Of kube-ipvs0; undefined where there is no such device. */
  readonly addresses: readonly string[] | undefined;
  /** Chains and rules that speak of Kubernetes, each with its table. */
  readonly rules: readonly string[];
  readonly nftables: readonly string[];
}

export const NOTHING: HostState = { servers: [], sets: [], addresses: undefined, rules: [], nftables: [] };

const READ = [
  'ipvsadm -Sn',
  'ipset save',
  'ip addr show kube-ipvs0 2>/dev/null || echo none',
  'iptables-save',
  'ip6tables-save',
  'nft list tables',
].join('; echo ---; ');

export async function hostState(network: Network): Promise<HostState> {
  const parts = (await tool(network, 'sh', '-c', READ)).split('---\n');
  const [servers = [], sets = [], device = [], iptables = [], ip6tables = [], nftables = []] = parts.map((part) =>
    part.split('\n').filter((line) => line !== ''),
  );
  return {
    servers: normalServers(servers),
    sets: normalSets(sets),
    addresses:
      device[0] === 'none' ? undefined : device.flatMap((line) => /^\s+inet6? (\S+)/.exec(line)?.[1] ?? []).sort(),
    rules: [...kubeRules('IPv4', iptables), ...kubeRules('IPv6', ip6tables)],
    nftables: nftables.filter((line) => line.includes('kube-proxy')),
  };
}

/** Rules of each chain in order, the chains by name. Without KUBE-FIREWALL, which kubelet shares, so that it always stays. */
function kubeRules(family: string, lines: readonly string[]): readonly string[] {
  let table = '';
  const rules: [chain: string, text: string][] = [];
  for (const line of lines) {
    if (line.startsWith('*')) table = line.slice(1);
    if (!line.includes('KUBE-') || line.includes('KUBE-FIREWALL')) continue;
    const chain = line.startsWith(':') ? line.slice(1).split(' ')[0]! : line.split(' ')[1]!;
    rules.push([`${table} ${chain}`, `${family} ${table} ${line.replace(/ \[\d+:\d+\]$/, '')}`]);
  }
  return rules.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, text]) => text);
}

/** Resolves when the host's state is what is wanted of it. */
export async function stateBecomes(
  network: Network,
  wanted: (held: HostState) => HostState,
  timeoutMs: number,
  about: () => string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const held = await hostState(network);
    try {
      assert.deepEqual(held, wanted(held));
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`${about()}\n${(error as Error).message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
