// `portolan check`: before a swap, what this host supports. Changes nothing on it.
import { parseArgs } from 'node:util';
import { MODES, type ModeName } from '../modes/mode.ts';
import { probeHost } from './check-probe.ts';
import { type Report, reportOf, type State } from './check-report.ts';
import { readConfiguration } from './node-view.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Says what this host supports, before kube-proxy is swapped. Changes nothing: what has to be tried is tried in
a network namespace made for it. As root it sees everything; without, what an ordinary user may see.

Usage: portolan check [options]

      --mode MODE      ${MODES.join(', ')} (default: as configured, else iptables)
      --config FILE    a KubeProxyConfiguration
  -o, --output FORMAT  table or json

Exit code: 0 if the mode can run here, 1 if not.
`;

const OPTIONS = {
  mode: { type: 'string' },
  config: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'table' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (options.output !== 'table' && options.output !== 'json')
    throw new UsageError(`--output ${options.output}: there are table and json`);
  const mode = wantedMode(options);
  const probes = await probeHost(mode);
  const report = reportOf(mode, probes);
  process.stdout.write(
    options.output === 'json'
      ? `${JSON.stringify({ ...report, probes }, undefined, 2)}\n`
      : tableOf(report, process.stdout.isTTY),
  );
  return report.isUsable ? 0 : 1;
}

function parseOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wantedMode({ mode, config }: { readonly mode?: string; readonly config?: string }): ModeName {
  if (mode === undefined) return readConfiguration({ config, mode: undefined, clusterCIDR: undefined }).mode;
  const known = MODES.find((name) => name === mode);
  if (known === undefined) throw new UsageError(`--mode ${mode}: there are ${MODES.join(', ')}`);
  return known;
}

const SIGNS: Readonly<Record<State, { readonly sign: string; readonly colour: number }>> = {
  good: { sign: '✓', colour: 32 },
  note: { sign: '!', colour: 33 },
  bad: { sign: '✗', colour: 31 },
};

/** For people. */
export function tableOf({ mode, isUsable, modes, findings }: Report, hasColour: boolean): string {
  const width = Math.max(
    ...[...modes.map((one) => one.mode), ...findings.map(({ what }) => what)].map((s) => s.length),
  );
  const row = (state: State, what: string, detail: string): string => {
    const { sign, colour } = SIGNS[state];
    return ` ${hasColour ? `\x1b[${colour}m${sign}\x1b[0m` : sign} ${what.padEnd(width)}  ${detail}`;
  };
  return `${[
    'Modes',
    ...modes.map((one) => row(one.isUsable ? 'good' : one.mode === mode ? 'bad' : 'note', one.mode, one.detail)),
    '',
    'This host',
    ...findings.map(({ what, state, detail }) => row(state, what, detail)),
    '',
    isUsable ? `Portolan can run here in ${mode} mode.` : `Portolan cannot run here in ${mode} mode.`,
  ].join('\n')}\n`;
}
