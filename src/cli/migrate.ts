// `portolan migrate --to MODE --plan`: what will behave differently, Service by Service, when the agent is restarted in another mode.
import type { ProxyConfiguration } from '../config/configuration.ts';
import { FAMILIES } from '../lib/ip.ts';
import { type Difference, generalDifferences, type ModeOutlook, portDifferences } from '../modes/migration.ts';
import type { ModeName } from '../modes/mode.ts';
import { familyNodePorts, type NodeSettings, takesLocalhostNodePorts } from '../node/facts.ts';
import { inkFor } from '../observe/trace/draw.ts';
import { readCluster } from './manifests.ts';
import { nodeView, readConfiguration, warnOfProblems } from './node-view.ts';
import { clusterFromApi } from './trace-objects.ts';
import { noNames, parseQuestion, printJson } from './trace-options.ts';
import { UsageError } from './usage-error.ts';

const MODES: readonly ModeName[] = ['iptables', 'nftables', 'ipvs', 'userspace'];

const HELP = `Says what will behave differently when this node's proxy moves to another mode. Changes nothing.

Usage: portolan migrate --to MODE --plan -f FILE|DIR|- [options]

      --to MODE          ${MODES.join(', ')}
      --from MODE        (default: as configured, else iptables)
      --plan             print the plan; the move itself is a restart of the agent with --proxy-mode=MODE
  -f, --filename PATH    Services, EndpointSlices, Nodes, in YAML or JSON; - reads standard input
      --kubeconfig FILE  take them from the API server instead
      --node NAME        which node (default: as configured, else the only Node)
      --config FILE      the proxy's KubeProxyConfiguration
  -o, --output FORMAT    text or json
`;

const OPTIONS = {
  to: { type: 'string' },
  from: { type: 'string' },
  plan: { type: 'boolean', default: false },
  filename: { type: 'string', short: 'f', multiple: true },
  kubeconfig: { type: 'string' },
  node: { type: 'string' },
  config: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

interface ServiceDifference extends Difference {
  readonly service: string;
}

export async function run(args: readonly string[]): Promise<number> {
  const { options, names, isJson } = parseQuestion('migrate', args, OPTIONS);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  noNames(names);
  if (options.to === undefined) throw new UsageError(`to which mode? Give --to ${MODES.join('|')}`);
  if (!options.plan) {
    throw new UsageError(
      `this command only plans: add --plan. The move itself is a restart of the agent with --proxy-mode=${options.to}`,
    );
  }
  const { config } = options;
  const before = readConfiguration({ config, mode: modeOption('--from', options.from), clusterCIDR: undefined });
  const after = readConfiguration({ config, mode: modeOption('--to', options.to), clusterCIDR: undefined });
  const named = options.node ?? (before.hostnameOverride || undefined);
  const cluster = options.filename
    ? await readCluster(options.filename, named)
    : options.kubeconfig === undefined
      ? undefined
      : await clusterFromApi(options.kubeconfig, named);
  if (!cluster) throw new UsageError('which Services? Give files with -f, or --kubeconfig');
  warnOfProblems(cluster, named);

  const services: ServiceDifference[] = [];
  let ports = 0;
  for (const family of FAMILIES) {
    const { model, settings } = nodeView(cluster, named, before, family);
    const [from, to] = [outlook(settings, before), outlook(settings, after)];
    for (const { ports: all } of model.services.values()) {
      for (const port of all) {
        ports++;
        services.push(
          ...portDifferences(port, from, to).map((difference) => ({ service: port.displayName, ...difference })),
        );
      }
    }
  }
  const settings = nodeView(cluster, named, before, 'IPv4').settings;
  const general = generalDifferences(outlook(settings, before), outlook(settings, after));
  if (isJson) printJson({ from: before.mode, to: after.mode, servicePorts: ports, general, services });
  else process.stdout.write(report(before.mode, after.mode, ports, general, unique(services)));
  return 0;
}

function modeOption(flag: string, text: string | undefined): ModeName | undefined {
  if (text === undefined || (MODES as readonly string[]).includes(text)) return text as ModeName | undefined;
  throw new UsageError(`${flag} ${text}: must be one of ${MODES.join(', ')}`);
}

function outlook(settings: NodeSettings, configuration: ProxyConfiguration): ModeOutlook {
  const own = { ...settings, configuration };
  const { mode } = configuration;
  const { matchAll, cidrs } = familyNodePorts(own, 'IPv4');
  return {
    mode,
    nodePortAddresses:
      matchAll || mode === 'userspace' ? 'every address' : cidrs.map((cidr) => cidr.replace(/\/32$/, '')),
    localhostNodePorts: mode === 'userspace' || (mode === 'iptables' && takesLocalhostNodePorts(own, 'IPv4')),
    scheduler: configuration.ipvs.scheduler || 'rr',
  };
}

function unique(differences: readonly ServiceDifference[]): readonly ServiceDifference[] {
  return [
    ...new Map(differences.map((difference) => [`${difference.service} ${difference.aspect}`, difference])).values(),
  ];
}

function report(
  from: string,
  to: string,
  ports: number,
  general: readonly Difference[],
  services: readonly ServiceDifference[],
): string {
  const ink = inkFor(process.stdout);
  const lines = [ink.bold(`From ${from} to ${to}`), '', 'For every Service:'];
  for (const { aspect, before, after } of general) lines.push(`  ${aspect}: ${ink.dim(before)} -> ${after}`);
  if (general.length === 0) lines.push('  nothing changes');
  const touched = new Set(services.map(({ service }) => service));
  for (const name of touched) {
    lines.push('', ink.bold(name));
    for (const { aspect, before, after } of services.filter(({ service }) => service === name)) {
      lines.push(`  ${aspect}: ${ink.dim(before)} -> ${after}`);
    }
  }
  lines.push('', `${ports} service ports were looked at; ${touched.size} of them change beyond what holds for all.`);
  lines.push(
    `The move: restart the agent with --proxy-mode=${to}. New rules stand before the old ones go${survival(from)}.`,
  );
  return `${lines.join('\n')}\n`;
}

function survival(from: string): string {
  if (from === 'userspace') return '; connections through the relays end with the agent that carries them';
  if (from === 'ipvs') return '; connections through IPVS end with its servers';
  return ', and open connections go on';
}
