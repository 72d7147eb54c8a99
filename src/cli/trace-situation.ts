// In: the options that trace, explain, verify, diff and doctor share.  Out: the cluster, the node, its rules and its addresses.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { ApiError } from '../api/client/error.ts';
import type { ProxyConfiguration } from '../config/configuration.ts';
import { Addresses } from '../kernel/addresses.ts';
import { isBridged } from '../kernel/bridges.ts';
import { KernelError } from '../kernel/error.ts';
import type { Family } from '../lib/ip.ts';
import { kernelRules } from '../observe/live/kernel-rules.ts';
import { type PlannedMode, TRACE_MODES, type TraceMode } from '../observe/live/modes.ts';
import { AddressBook } from '../observe/trace/frontends.ts';
import { parseIptablesSave } from '../observe/trace/iptables-save.ts';
import { parseNftList } from '../observe/trace/nft-list.ts';
import type { Origins } from '../observe/trace/origin.ts';
import type { Surroundings } from '../observe/trace/packet.ts';
import type { Ruleset } from '../observe/trace/ruleset.ts';
import { withAddresses } from '../observe/trace/surroundings.ts';
import { clusterOf, type OfflineCluster, readCluster } from './manifests.ts';
import { type NodeView, nodeView, readConfiguration, warnOfProblems } from './node-view.ts';
import { clusterFromApi } from './trace-objects.ts';
import { deviceLookup } from './trace-routes.ts';
import { UsageError } from './usage-error.ts';

export const SITUATION_OPTIONS = {
  filename: { type: 'string', short: 'f', multiple: true },
  kubeconfig: { type: 'string' },
  node: { type: 'string' },
  config: { type: 'string' },
  mode: { type: 'string' },
  'cluster-cidr': { type: 'string' },
  rules: { type: 'string' },
  live: { type: 'boolean', default: false },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

export const SITUATION_HELP = `  -f, --filename PATH    Services, EndpointSlices, Nodes (and Pods), in YAML or JSON; - reads standard input
      --kubeconfig FILE  take them from the API server instead
      --node NAME        whose rules (default: as configured, else the only Node, else this host)
      --config FILE      the proxy's KubeProxyConfiguration
      --mode MODE        iptables, nftables, ipvs or userspace (default: as configured, else iptables)
      --cluster-cidr C   pod networks, as in the configuration's clusterCIDR
      --live             use the rules that this host's kernel holds (the default without objects)
      --rules FILE       use the rules in this text of iptables-save (with those of ipset save and ipvsadm -Sn in IPVS mode), or of nft
                         list ruleset
  -o, --output FORMAT    text or json`;

export interface SituationOptions {
  readonly filename?: readonly string[] | undefined;
  readonly kubeconfig?: string | undefined;
  readonly node?: string | undefined;
  readonly config?: string | undefined;
  readonly mode?: string | undefined;
  readonly 'cluster-cidr'?: string | undefined;
  readonly rules?: string | undefined;
  readonly live: boolean;
}

export interface Situation {
  readonly cluster: OfflineCluster;
  readonly configuration: ProxyConfiguration;
  readonly nodeName: string;
  inFamily(family: Family): Promise<FamilySituation>;
}

export interface FamilySituation extends PlannedMode {
  readonly view: NodeView;
  /** From the kernel or a file; undefined if neither was asked for. */
  readonly held: Ruleset | undefined;
  /** `planned`, `in the kernel` (and what of it could not be read), `in FILE`: of those that count, which are the held ones where there are any. */
  readonly source: string;
  /** True if the rules are those of this host's kernel, so that it can be asked for more. */
  readonly isLive: boolean;
  readonly origins: Origins;
  readonly book: AddressBook;
  readonly host: Surroundings;
  /** This node's own addresses, as far as they are known. */
  readonly hostIps: readonly string[];
}

export async function situationOf(options: SituationOptions): Promise<Situation> {
  const configuration = readConfiguration({
    config: options.config,
    mode: options.mode,
    clusterCIDR: options['cluster-cidr'],
  });
  const named = options.node ?? (configuration.hostnameOverride || undefined);
  const cluster = await readObjects(options, named);
  const isLive = options.live || (options.rules === undefined && !hasObjects(options));
  const nodeName =
    named ?? (cluster.nodes.length === 1 ? cluster.nodes[0]!.name : isLive ? hostname().toLowerCase() : undefined);
  if (hasObjects(options)) warnOfProblems(cluster, nodeName);
  const mode = TRACE_MODES[configuration.mode];

  const inFamily = async (family: Family): Promise<FamilySituation> => {
    const view = nodeView(cluster, nodeName, configuration, family);
    const kernel = isLive ? await readable(kernelRules(family, mode)) : undefined;
    const text = kernel?.text ?? (options.rules === undefined ? undefined : readRules(options.rules));
    const read = kernel?.ruleset ?? (text === undefined ? undefined : parseRules(text, mode, family));
    const all = isLive ? await ownAddresses(family) : (view.node?.ips ?? []);
    const hostIps = all.filter((ip) => !read?.addresses?.has(ip));
    const planned = mode.plan(view, hostIps, text);
    const held = read && (mode.complete?.(read, view, text ?? '') ?? read);
    const host = hostOf(view, hostIps, isLive, family);
    return {
      view,
      ...planned,
      origins: mode.origins(view.model),
      held,
      isLive,
      source: kernel ? kernel.source : held ? `in ${options.rules}` : 'as planned',
      book: new AddressBook(view.model),
      host: withAddresses(host, held ?? planned.planned),
      hostIps,
    };
  };
  return { cluster, configuration, nodeName: nodeName ?? '', inFamily };
}

/** What the kernel or the API server refuses is told as a sentence, without a stack. */
async function readable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KernelError || error instanceof ApiError) throw new UsageError(error.message);
    throw error;
  }
}

function hasObjects({ filename, kubeconfig }: SituationOptions): boolean {
  return filename !== undefined || kubeconfig !== undefined;
}

async function readObjects(options: SituationOptions, nodeName: string | undefined): Promise<OfflineCluster> {
  if (options.filename) return readCluster(options.filename, nodeName);
  if (options.kubeconfig !== undefined) return readable(clusterFromApi(options.kubeconfig, nodeName));
  return clusterOf([], nodeName);
}

function hostOf({ settings }: NodeView, hostIps: readonly string[], isLive: boolean, family: Family): Surroundings {
  const address = settings.addresses.ips[family];
  const own = new Set([...hostIps, address]);
  const live = isLive ? { deviceTo: deviceLookup(family), isBridged } : {};
  return { isOwnAddress: (ip) => own.has(ip), address, ...live };
}

async function ownAddresses(family: Family): Promise<readonly string[]> {
  const addresses = new Addresses();
  try {
    return await addresses.list(family);
  } finally {
    addresses.close();
  }
}

/** nft's text begins with a table, iptables-save's with a comment or an asterisk. */
function parseRules(text: string, { besideIn }: TraceMode, family: Family): Ruleset {
  const rules = /^table /m.test(text) ? parseNftList(text, family) : parseIptablesSave(text, family);
  if (!besideIn) return rules;
  const beside = besideIn(text, family);
  if (typeof beside === 'string') throw new UsageError(`--rules: ${beside}`);
  return { ...rules, ...beside };
}

function readRules(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`--rules: ${(error as Error).message}`);
  }
}
