// Looks at this host for `portolan check`. Out: Probes, plain data. It changes nothing: what has to be tried is tried in a
// network namespace of its own (check-trials.ts).
import net from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AgentIdentity, agentLockHolder, runningProxyMode } from '../kernel/agent-lock.ts';
import {
  type Capability,
  heldCapabilities,
  ipsetVersion,
  ipv6Support,
  kernelVersion,
  moduleSupport,
  nftVersion,
} from '../kernel/host.ts';
import { findLeftovers, type Leftover } from '../kernel/leftovers.ts';
import { runProcess } from '../kernel/process.ts';
import { readSysctlIfAny } from '../kernel/sysctl.ts';
import { chooseVariant, probeVariants, type VariantChoice } from '../kernel/variant.ts';
import type { ModeName } from '../modes/mode.ts';
import type { FamilyProbes } from '../node/warnings.ts';
import type { Trials } from './check-trials.ts';

export interface Probes {
  readonly kernelVersion: string;
  readonly ipv6: FamilyProbes['ipv6'];
  /** Text: why nothing could be tried. */
  readonly trials: Trials | string;
  readonly variant: VariantChoice;
  readonly nftVersion: string | undefined;
  readonly ipsetVersion: string | undefined;
  readonly modules: Readonly<Record<string, ReturnType<typeof moduleSupport>>>;
  readonly capabilities: readonly Capability[];
  /** Settings that matter, as they are; those that this kernel lacks are missing. */
  readonly sysctls: Readonly<Record<string, string>>;
  readonly leftovers: readonly Leftover[];
  readonly portolan: AgentIdentity | undefined;
  /** Mode of the kube-proxy that answers on this host. */
  readonly runningProxy: string | undefined;
  readonly portsInUse: readonly number[];
}

export const METRICS_PORT = 10249;
export const HEALTHZ_PORT = 10256;
export const IPVS_MODULES = ['ip_vs', 'ip_vs_rr', 'dummy'] as const;
const SYSCTLS = [
  'net/ipv4/ip_forward',
  'net/ipv4/conf/all/route_localnet',
  'net/netfilter/nf_conntrack_max',
  'net/netfilter/nf_conntrack_tcp_be_liberal',
  'net/bridge/bridge-nf-call-iptables',
];

export async function probeHost(mode: ModeName): Promise<Probes> {
  const variant = chooseVariant(await probeVariants());
  const inUse = variant.variant === 'auto' ? undefined : variant.variant;
  return {
    kernelVersion: kernelVersion(),
    ipv6: ipv6Support(),
    trials: await runTrials(),
    variant,
    nftVersion: await nftVersion(),
    ipsetVersion: await ipsetVersion(),
    modules: Object.fromEntries(IPVS_MODULES.map((name) => [name, moduleSupport(name)])),
    capabilities: [...heldCapabilities()],
    sysctls: Object.fromEntries(
      SYSCTLS.flatMap((name) => {
        const value = readSysctlIfAny(name);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    leftovers: await findLeftovers({ mode, variant: inUse }),
    portolan: await agentLockHolder(),
    runningProxy: await runningProxyMode(METRICS_PORT),
    portsInUse: [
      ...((await isFree(METRICS_PORT, '127.0.0.1')) ? [] : [METRICS_PORT]),
      ...((await isFree(HEALTHZ_PORT, '0.0.0.0')) ? [] : [HEALTHZ_PORT]),
    ],
  };
}

/** In a namespace made for it: as root, or as an ordinary user who is root in a user namespace. */
async function runTrials(): Promise<Trials | string> {
  // Beside this file in the source, and beside the bundle's pieces once built.
  const program = fileURLToPath(new URL(`./check-trials${extname(import.meta.url)}`, import.meta.url));
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', program];
  // The lock of legacy iptables is the host's: trials neither wait for it nor hold it.
  const command = ['env', 'XTABLES_LOCKFILE=/dev/null', ...node];
  let refusal = '';
  for (const apart of [['--net'], ['--user', '--map-root-user', '--net']]) {
    const { status, stdout, stderr } = await runProcess('unshare', [...apart, ...command], { timeoutSeconds: 60 });
    if (status === 0) return JSON.parse(stdout) as Trials;
    refusal ||= stderr.trim();
  }
  return refusal;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
