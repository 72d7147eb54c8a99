// The agent of one node: the real program, in the node, watching the lab's API server. If it ends, it is started again, as a
// DaemonSet's pod would be.
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_CONSOLE_PORT } from '../../config/configuration.ts';
import { hostEnv, hostFolder, inHostArgv } from '../inside-host.ts';
import type { HostProcess, Network } from '../network/network.ts';
import { mainProgram } from '../package-files.ts';

export const API_PORT = 6443;
/** In the node's /run. */
const CONFIGURATION = 'kube-proxy.json';
const RESTART_MS = 500;
const STOP_MS = 3000;
const LOG_CHARACTERS = 200_000;
/** An agent that ended so often by itself, without having come to work in between, never will. */
const HOPELESS = 2;

export interface AgentSettings {
  readonly mode: string;
  readonly podCIDRs: readonly string[];
}

/** What a node's agent reads: short waits, so that a person sees what a change does; no kernel-wide settings. */
function agentConfiguration({ mode, podCIDRs }: AgentSettings): string {
  const rules = { minSyncPeriod: '100ms', syncPeriod: '5s' };
  const configuration = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    ...(mode === 'userspace' && { featureGates: { PortolanUserspaceMode: true } }),
    clientConnection: { kubeconfig: '/run/kubeconfig' },
    clusterCIDR: podCIDRs.join(','),
    healthzBindAddress: '0.0.0.0:10256',
    metricsBindAddress: '127.0.0.1:10249',
    portolan: { consoleBindAddress: `127.0.0.1:${DEFAULT_CONSOLE_PORT}`, serviceMetrics: true },
    iptables: rules,
    nftables: rules,
    ipvs: rules,
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
  return `${JSON.stringify(configuration, undefined, 2)}\n`;
}

export class NodeAgent {
  readonly node: string;
  readonly #network: Network;
  #settings: AgentSettings;
  #process: HostProcess | undefined;
  #failures = 0;
  #isStopping = false;
  #ended: Promise<void> = Promise.resolve();
  #log = '';

  constructor(network: Network, node: string, settings: AgentSettings) {
    this.#network = network;
    this.node = node;
    this.#settings = settings;
  }

  get mode(): string {
    return this.#settings.mode;
  }

  /** Resolves when the program has been started; it goes on by itself. */
  async start(): Promise<void> {
    this.#isStopping = false;
    this.#failures = 0;
    const write = ['sh', '-c', `cat > ${hostFolder(this.node)}/${CONFIGURATION}`];
    await this.#network.exec(this.node, write, { stdin: agentConfiguration(this.#settings) });
    await this.#spawn();
    this.#ended = this.#keepRunning();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const mercy = setTimeout(() => void this.#process?.kill('SIGKILL').catch(() => {}), STOP_MS);
    await this.#process?.kill('SIGTERM').catch(() => {});
    await this.#ended;
    clearTimeout(mercy);
  }

  /** Without warning; it comes back by itself. */
  async kill(): Promise<void> {
    await this.#process?.kill('SIGKILL');
  }

  /** The end of what it said. */
  get log(): string {
    return this.#log.slice(-2000);
  }

  /** Why it cannot work; undefined while there is hope. */
  get failure(): string | undefined {
    if (this.#failures < HOPELESS) return undefined;
    const errors = [...this.#log.matchAll(/^E.*? err=("(?:[^"\\]|\\.)*")/gm)];
    return errors.length > 0 ? (JSON.parse(errors.at(-1)![1]!) as string) : this.log;
  }

  /** Whether its rules are as the API server says, by its own word. */
  async isHealthy(): Promise<boolean> {
    const isHealthy = (await this.#page('127.0.0.1:10256/healthz')) !== undefined;
    if (isHealthy) this.#failures = 0;
    return isHealthy;
  }

  /** As it tells whoever asks the node. */
  runningMode(): Promise<string | undefined> {
    return this.#page('127.0.0.1:10249/proxyMode');
  }

  /** Ends the program, removes its rules, and starts it again in another mode. */
  async changeMode(mode: string): Promise<void> {
    await this.stop();
    this.#settings = { ...this.#settings, mode };
    const cleanup = await this.#network.exec(this.node, this.#argv(['--cleanup']), { env: this.#env() });
    if (cleanup.status !== 0) throw new Error(`kube-proxy --cleanup in ${this.node}: ${cleanup.stderr}`);
    await this.start();
  }

  /** A page of the agent's own servers; undefined if it is not had, or the network is closing. */
  async #page(http: string): Promise<string | undefined> {
    const page = await this.#network.probe({ from: this.node, http }).catch(() => undefined);
    return page && 'status' in page && page.status === 200 ? String(page.body) : undefined;
  }

  #argv(args: readonly string[]): string[] {
    const program = [process.execPath, '--disable-warning=ExperimentalWarning', mainProgram()];
    return inHostArgv(this.node, [...program, ...args]);
  }

  #env(): Record<string, string> {
    return { ...hostEnv(this.node), PORTOLAN_PROGRAM: 'kube-proxy' };
  }

  async #keepRunning(): Promise<void> {
    while (!this.#isStopping) {
      const { signal } = await this.#process!.exited;
      if (this.#isStopping) return;
      if (signal === null) this.#failures++;
      await delay(RESTART_MS);
      if (!this.#isStopping) await this.#spawn().catch(() => {}); // the network is closing
    }
  }

  async #spawn(): Promise<void> {
    const argv = this.#argv(['--config', `/run/${CONFIGURATION}`, '-v', '2']);
    const started = await this.#network.spawnIn(this.node, argv, { env: this.#env() });
    this.#process = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (data: Buffer) => {
        this.#log = (this.#log + data.toString()).slice(-LOG_CHARACTERS);
      });
    }
  }
}
