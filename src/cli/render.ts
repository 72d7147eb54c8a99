// `portolan render`: the rules one node would hold, from objects in files. Offline, without root: for review, CI and teaching.
import { parseArgs } from 'node:util';
import { FAMILIES, type Family, familyOf } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import { nodeAddresses } from '../node/addresses.ts';
import { lineDiff, paint } from './diff-view.ts';
import { type OfflineCluster, readCluster } from './manifests.ts';
import { nodeIn, nodeView, readConfiguration, warnOfProblems } from './node-view.ts';
import { RENDERERS, type Rendered } from './renderers.ts';
import { UsageError } from './usage-error.ts';

const HELP = `Prints the rules a node would hold, from objects in files. Touches nothing and needs no root.

Usage: portolan render -f FILE|DIR|- [-f ...] [options]

  -f, --filename PATH    Services, EndpointSlices (or Endpoints) and Nodes, in YAML or JSON; - reads standard input
      --mode MODE        ${Object.keys(RENDERERS).join(', ')} (default: as configured, else iptables)
      --node NAME        whose rules to print (default: as configured, else the only Node in the files)
      --config FILE      a KubeProxyConfiguration
      --cluster-cidr C   pod networks, as in the configuration's clusterCIDR
      --family FAMILY    ipv4 or ipv6 (default: the node's primary family; with -o json both)
      --diff PATH        objects as they were before: print what changes instead
      --nfacct           include the packet counters that some kernels offer
  -o, --output FORMAT    text (loads as it is) or json

Problems with the objects go to standard error; the rest is printed all the same.
Example: portolan render -f examples/yaobank.yaml --node node1 | sudo iptables-restore --test
`;

const OPTIONS = {
  filename: { type: 'string', short: 'f', multiple: true },
  mode: { type: 'string' },
  node: { type: 'string' },
  config: { type: 'string' },
  'cluster-cidr': { type: 'string' },
  family: { type: 'string' },
  diff: { type: 'string', multiple: true },
  nfacct: { type: 'boolean', default: false },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

export async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!options.filename) throw new UsageError('which objects? Give a file or folder with -f, or - for standard input');
  const configuration = readConfiguration({
    config: options.config,
    mode: options.mode,
    clusterCIDR: options['cluster-cidr'],
  });
  const nodeName = options.node ?? (configuration.hostnameOverride || undefined);
  const cluster = await readCluster(options.filename, nodeName);
  const before = options.diff && (await readCluster(options.diff, nodeName));
  warnOfProblems(cluster, nodeName);

  const renderer = RENDERERS[configuration.mode];
  if (!renderer)
    throw new UsageError(`--mode ${configuration.mode}: render knows ${Object.keys(RENDERERS).join(', ')}`);
  const render = (from: OfflineCluster, family: Family): Rendered & { readonly model: NodeModel } => {
    const { settings, node, model } = nodeView(from, nodeName, configuration, family);
    return {
      model,
      ...renderer(model, settings, {
        nfacct: options.nfacct,
        hostIps: node?.ips.filter((ip) => familyOf(ip) === family) ?? [],
        nodeName: nodeName ?? node?.name ?? '',
      }),
    };
  };
  const primary = nodeAddresses(nodeIn(cluster, nodeName)?.ips ?? [], configuration.bindAddress).primary;
  const families = options.family ? [familyOption(options.family)] : options.output === 'json' ? FAMILIES : [primary];
  const output = families.map((family) => ({
    family,
    now: render(cluster, family),
    old: before && render(before, family),
  }));

  if (options.output === 'json') {
    const shown = output.map(({ family, now, old }) => ({
      mode: configuration.mode,
      family,
      node: nodeName ?? nodeIn(cluster, nodeName)?.name ?? '',
      ...(old
        ? { changes: lineDiff(old.text, now.text).filter(({ kind }) => kind !== 'same') }
        : { rules: now.text.trimEnd().split('\n') }),
      services: [...now.model.services.values()],
    }));
    process.stdout.write(`${JSON.stringify({ families: shown, problems: cluster.problems }, undefined, 2)}\n`);
  } else {
    for (const { now, old } of output)
      process.stdout.write(old ? paint(lineDiff(old.text, now.text), process.stdout) : now.text);
  }
  return 0;
}

function parseOptions(args: readonly string[]) {
  try {
    const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true });
    if (values.output !== 'text' && values.output !== 'json')
      throw new Error(`--output ${values.output}: must be text or json`);
    return values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message} (see portolan render --help)`);
  }
}

function familyOption(text: string): Family {
  if (text === 'ipv4') return 'IPv4';
  if (text === 'ipv6') return 'IPv6';
  throw new UsageError(`--family ${text}: must be ipv4 or ipv6`);
}
