// `portolan lab up`: starts the lab, shows it, and stays until Ctrl-C.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { clusterPlan, networksOf, PRESETS } from '../lab/addresses.ts';
import { kubeconfigText } from '../lab/apiserver/kubeconfig.ts';
import { type ControlServer, LabRefusal, serveControl } from '../lab/control.ts';
import { Lab, type LabOptions } from '../lab/lab.ts';
import { calledAs } from '../lab/package-files.ts';
import { labMap, thingsToTry } from '../lab/screen/map.ts';
import { isLabRunning, makeStateFolder, removeStateFolder, stateFolder, writeState } from '../lab/state.ts';
import { labStatus } from '../lab/status.ts';
import { labWork } from '../lab/work.ts';
import type { Family } from '../lib/ip.ts';
import { MODES } from '../modes/mode.ts';
import { UsageError } from './usage-error.ts';

const FAMILIES: Readonly<Record<string, readonly Family[]>> = {
  ipv4: ['IPv4'],
  ipv6: ['IPv6'],
  dual: ['IPv4', 'IPv6'],
};

const HELP = `Starts a cluster on this machine: nodes, an outside client, yaobank. Ctrl-C removes it.

Usage: portolan lab [up] [options]

      --nodes N            how many, the control plane among them (default: 3)
      --mode MODE          ${MODES.join(', ')} (default: iptables)
      --families F         ${Object.keys(FAMILIES).join(', ')} (default: dual)
      --preset NAME        whose addresses (default: kubeadm)
${Object.entries(PRESETS)
  .map(
    ([name, { about, IPv4 }]) =>
      `                             ${name.padEnd(8)} ${IPv4.pods}, ${IPv4.services}: ${about}`,
  )
  .join('\n')}
      --pod-cidr C[,C]     pods' networks instead of the preset's
      --service-cidr C[,C] Services' networks instead of the preset's
      --port PORT          the API server's, on 127.0.0.1 (default: any)
`;

const OPTIONS = {
  nodes: { type: 'string', default: '3' },
  mode: { type: 'string', default: 'iptables' },
  families: { type: 'string', default: 'dual' },
  preset: { type: 'string', default: 'kubeadm' },
  'pod-cidr': { type: 'string' },
  'service-cidr': { type: 'string' },
  port: { type: 'string', default: '0' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const options = labOptions(args);
  if (!options) {
    process.stdout.write(HELP);
    return 0;
  }
  const folder = stateFolder();
  if (await isLabRunning(folder)) throw new UsageError('a lab is running already; `portolan lab down` removes it');
  // Whatever a killed lab left: its processes and namespaces died with it, its folder did not.
  makeStateFolder(folder);
  const stop = stopRequest();
  let control: ControlServer | undefined;
  let lab: Lab | undefined;
  try {
    const startedAt = performance.now();
    control = await serveControl(
      folder,
      labWork(() => lab, folder, stop.ask),
    );
    process.stdout.write('Starting the lab ...\n');
    lab = await Lab.open(options);
    writeFileSync(folder.kubeconfig, kubeconfigText({ url: lab.server.url }), { mode: 0o600 });
    const { url } = lab.server;
    writeState(folder, { pid: process.pid, sandboxPid: lab.network.pid, url });
    const tell = (awaited: string): boolean => process.stdout.write(`Waiting for ${awaited} ...\n`);
    await Promise.race([lab.ready(tell), stop.asked]);
    if (!stop.isAsked()) {
      const status = await labStatus(lab, folder.kubeconfig);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      process.stdout.write(`\n${labMap(status)}\n${thingsToTry(status, calledAs())}\nReady after ${seconds} s.\n`);
      await Promise.race([stop.asked, lab.network.ended]);
      if (!stop.isAsked()) throw new LabRefusal("the lab's network has ended; somebody killed its first process");
    }
    process.stdout.write('Removing the lab ...\n');
    return 0;
  } finally {
    await lab?.close();
    control?.close();
    removeStateFolder(folder);
  }
}

/** Undefined if help was asked for. */
function labOptions(args: readonly string[]): LabOptions | undefined {
  const { values } = parsed(args);
  if (values.help) return undefined;
  const families = FAMILIES[values.families];
  if (!families) throw new UsageError(`--families is one of ${Object.keys(FAMILIES).join(', ')}`);
  if (!MODES.some((known) => known === values.mode)) throw new UsageError(`--mode is one of ${MODES.join(', ')}`);
  const list = (text: string | undefined) => text?.split(',') ?? [];
  try {
    const given = { pods: list(values['pod-cidr']), services: list(values['service-cidr']) };
    const networks = networksOf(values.preset, families, given);
    const cluster = clusterPlan(networks, whole('nodes', values.nodes));
    return { networks, cluster, mode: values.mode, port: whole('port', values.port) };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function whole(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`--${name} is a number, not ${text}`);
  return Number(text);
}

/** Ctrl-C, a signal, or the word of another command. A second Ctrl-C changes nothing: the end is under way. */
function stopRequest(): { readonly asked: Promise<void>; ask(): void; isAsked(): boolean } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isAsked = false;
  const ask = () => {
    isAsked = true;
    resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ask);
  return { asked: promise, ask, isAsked: () => isAsked };
}
