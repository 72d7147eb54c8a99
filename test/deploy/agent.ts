// The agent as a process, with a token for an API server of the test.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const TOKEN = 'secret';

export const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
};

export interface RunningAgent {
  log(): string;
  /** Resolves to the exit code of an agent that ends by itself. */
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
}

/** `prefix`: a command that the agent is started through, such as setpriv with its options. */
export function startAgent(server: string, args: readonly string[], prefix: readonly string[] = []): RunningAgent {
  const home = mkdtempSync(join(tmpdir(), 'portolan-agent-'));
  const kubeconfig = join(home, 'kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(server)));
  const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
  const common = [`--kubeconfig=${kubeconfig}`, '--hostname-override=n1', '--cluster-cidr=10.244.0.0/16'];
  const argv = [...prefix, process.execPath, program, ...common, '--iptables-min-sync-period=100ms', ...args];
  const child = spawn(argv[0]!, argv.slice(1), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PORTOLAN_PROGRAM: 'kube-proxy' },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    log: () => log,
    exited,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function kubeconfigFor(server: string): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: TOKEN } }],
  };
}
