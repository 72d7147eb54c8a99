// In: a configuration and a cluster that was read once.  Out: one node of it as its proxy would see it. Shared by the commands
// that work without an agent.
import { readFileSync } from 'node:fs';
import type { Node } from '../api/objects.ts';
import { type ProxyConfiguration, USERSPACE_GATE } from '../config/configuration.ts';
import { decodeDocument } from '../config/decode.ts';
import { settingsOf, withPlatformDefaults } from '../config/defaults.ts';
import { aggregated } from '../config/problems.ts';
import { problemsOf } from '../config/validate.ts';
import type { Family } from '../lib/ip.ts';
import type { NodeModel } from '../model/model.ts';
import { resolveNode } from '../model/resolve.ts';
import { nodeAddresses } from '../node/addresses.ts';
import type { NodeSettings } from '../node/facts.ts';
import type { OfflineCluster } from './manifests.ts';
import { UsageError } from './usage-error.ts';

export interface NodeView {
  readonly nodeName: string;
  /** Undefined where the cluster's Nodes are not known. */
  readonly node: Node | undefined;
  readonly settings: NodeSettings;
  readonly model: NodeModel;
}

export function nodeView(
  cluster: OfflineCluster,
  nodeName: string | undefined,
  configuration: ProxyConfiguration,
  family: Family,
): NodeView {
  const node = nodeIn(cluster, nodeName);
  const addresses = nodeAddresses(node?.ips ?? [], configuration.bindAddress);
  const name = nodeName ?? node?.name ?? '';
  const allowsExternalIPs = configuration.featureGates.AllowServiceExternalIPs ?? true;
  const identity = { nodeName: name, nodeIPs: addresses.ips, allowsExternalIPs };
  return {
    nodeName: name,
    node,
    settings: { configuration, addresses, podCIDRs: node?.podCIDRs ?? [] },
    model: resolveNode(cluster.tracker.take(family), identity),
  };
}

/** Without a name, the only Node if there is just one. */
export function nodeIn({ nodes }: OfflineCluster, nodeName: string | undefined): Node | undefined {
  return nodeName === undefined && nodes.length === 1 ? nodes[0] : nodes.find(({ name }) => name === nodeName);
}

export interface ConfigurationOptions {
  readonly config: string | undefined;
  readonly mode: string | undefined;
  readonly clusterCIDR: string | undefined;
}

export function readConfiguration({ config, mode, clusterCIDR }: ConfigurationOptions): ProxyConfiguration {
  const text = config === undefined ? DEFAULT_DOCUMENT : readConfigFile(config);
  const decoded = decodeDocument(text);
  if ('problem' in decoded) throw new UsageError(`--config ${config}: ${decoded.problem}`);
  const settings = withPlatformDefaults(
    settingsOf({
      ...decoded.document,
      ...(mode === undefined ? {} : { mode }),
      // Whoever names this mode here wants to see it; the gate is for agents that would run it.
      ...(mode === 'userspace' ? { featureGates: { ...decoded.document.featureGates, [USERSPACE_GATE]: true } } : {}),
      ...(clusterCIDR === undefined ? {} : { clusterCIDR }),
    }),
  );
  const problems = problemsOf(settings);
  if (problems.length > 0) throw new UsageError(aggregated(problems));
  return settings as ProxyConfiguration;
}

const DEFAULT_DOCUMENT = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

function readConfigFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--config: ${(error as Error).message}`);
  }
}

/** To standard error, so that what is printed stays usable. */
export function warnOfProblems(cluster: OfflineCluster, nodeName: string | undefined): void {
  for (const { object, field, reason } of cluster.problems)
    process.stderr.write(`warning: ${object}: ${field}: ${reason}\n`);
  if (nodeName !== undefined || cluster.nodes.length === 1) return;
  const names = cluster.nodes.map(({ name }) => name).join(', ');
  process.stderr.write(
    `warning: no --node given, so no endpoint counts as local${names ? ` (there are ${names})` : ''}\n`,
  );
}
