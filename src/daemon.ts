// The life of the agent: find out who we are, prepare the host, watch the cluster, sync, and stop when told.
// In: a complete configuration.  Out: an exit code. Rules stay in the kernel when the agent ends: Services go on working.
import { hostname } from 'node:os';
import { ApiClient } from './api/client/client.ts';
import { loadApiConfig } from './api/client/load.ts';
import type { ApiLog } from './api/client/log.ts';
import { userAgent } from './api/client/user-agent.ts';
import type { Node } from './api/objects.ts';
import { isGateEnabled } from './config/feature-gates.ts';
import type { Ready } from './config/options.ts';
import { watchConfigFile } from './config/watch.ts';
import { ClusterWatch } from './daemon/cluster-watch.ts';
import { allowCompilers } from './daemon/compilers.ts';
import type { AgentConsole } from './daemon/console.ts';
import { FamilyLoop } from './daemon/family-loop.ts';
import { FatalError } from './daemon/fatal.ts';
import {
  announceMode,
  chooseFamilies,
  IPVS_DEPRECATION,
  pickVariant,
  reportLeftovers,
  reportRunningProxy,
  tuneKernel,
} from './daemon/host.ts';
import { Runtimes } from './daemon/modes.ts';
import { NodeNameCheck } from './daemon/node-name.ts';
import { NodeWatch } from './daemon/node-watch.ts';
import { Observers } from './daemon/observers.ts';
import { type CheckNews, checkNowAndThen } from './daemon/self-check.ts';
import { type AgentIdentity, acquireAgentLock } from './kernel/agent-lock.ts';
import type { IptablesVariant } from './kernel/iptables.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { inMilliseconds } from './lib/duration.ts';
import type { Family } from './lib/ip.ts';
import type { NodeModel } from './model/model.ts';
import { allConnections, type RelayedConnections } from './modes/userspace/relay-host.ts';
import { nodeAddresses } from './node/addresses.ts';
import { familyNodePorts, type NodeSettings } from './node/facts.ts';
import { type AgentNews, ChangeHistory } from './observe/history.ts';
import type { Log, LogValues } from './observe/log.ts';
import { bindFailureNote, ServiceHealthServers } from './observe/service-health.ts';
import type { CountedServices } from './observe/service-metrics.ts';
import { Tracker } from './track/tracker.ts';

export interface AgentOptions {
  readonly ready: Ready;
  readonly log: Log;
  /** Prepare the host and stop: for a privileged init container in front of an unprivileged one. */
  readonly initOnly: boolean;
  readonly clock?: Clock;
}

export async function runAgent(options: AgentOptions): Promise<number> {
  const stopping = new AbortController();
  const ended = Promise.withResolvers<number>();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve(0));
  void live(options, stopping.signal, ended).catch(ended.reject);
  try {
    return await ended.promise;
  } finally {
    stopping.abort();
  }
}

/** From the first question to the API server until the signal is aborted. */
async function live(
  { ready, log, initOnly, clock = systemClock }: AgentOptions,
  signal: AbortSignal,
  end: End,
): Promise<void> {
  const { configuration } = ready;
  log.info('Version info', { version: ready.version });
  const fileUpdate = configFileUpdate(ready);
  const agent = await openAgent(ready, log, clock, end);
  void agent.node.run(signal).catch(end.reject);
  await waitForNode(agent, signal);
  if (signal.aborted) return;

  const settings = nodeSettings(ready, agent.node.node);
  announceMode(configuration, log);
  await tuneKernel(settings, log);
  const families = await chooseFamilies(settings, agent.runtimes.iptables, log);
  if (initOnly) {
    log.info('System initialized and --init-only specified');
    return end.resolve(0);
  }
  const news = (): AgentNews => ({ changes: agent.history.records });
  const identity = { mode: configuration.mode, version: ready.version, clock, news };
  if (!(await acquireAgentLock(identity, (holder) => noteOtherAgent(holder, log), signal))) return;
  await reportRunningProxy(configuration, log);
  await reportLeftovers(configuration, agent.variant, log);
  void fileUpdate.then(end.reject);

  agent.observers.recordEventsWith(agent.client);
  if (configuration.mode === 'ipvs') agent.observers.nodeEvent('Warning', 'IPVSDeprecation', IPVS_DEPRECATION);
  agent.observers.serve((error) => void endAfterEvents(agent, error, end));
  const console = await openConsole(agent, settings);
  for (const family of families) agent.loops.set(family, await familyLoop(agent, settings, family, families, console));
  for (const loop of agent.loops.values()) void loop.run(signal).catch(end.reject);
  agent.observers.nodeEvent('Normal', 'Starting', '');
  startSelfChecks(agent, settings, signal);
  await agent.cluster.run(signal);
}

/** The event says on the Node what only our log would know otherwise; an API server that is away must not keep us. */
async function endAfterEvents({ observers, clock }: Agent, error: Error, end: End): Promise<void> {
  await Promise.race([observers.eventsSent(), clock.wait(EVENTS_LIMIT_MS)]);
  end.reject(error);
}

const EVENTS_LIMIT_MS = 2000;

/** Resolves when the file that was read is no longer what it was; it is watched from now on, and acted on once we serve. */
function configFileUpdate({ configFile }: Ready): Promise<Error> {
  return new Promise((resolve) => {
    try {
      if (configFile) watchConfigFile(configFile.path, configFile.text, resolve);
    } catch (error) {
      resolve(error as Error);
    }
  });
}

function startSelfChecks(
  { ready, loops, observers, clock, log, nodeName }: Agent,
  settings: NodeSettings,
  signal: AbortSignal,
): void {
  const { mode, portolan } = ready.configuration;
  const periodMs = inMilliseconds(portolan.selfCheckPeriod);
  if (periodMs === 0) return;
  const models = (): Map<Family, NodeModel> =>
    new Map([...loops].flatMap(([family, { syncedModel }]) => (syncedModel ? [[family, syncedModel] as const] : [])));
  const onResult = (family: Family, news: CheckNews): void => {
    observers.checked(family, news);
    if (news.first !== undefined) loops.get(family)?.repair();
  };
  void checkNowAndThen({ mode, settings, nodeName, clock, log, periodMs, models, onResult }, signal);
}

type End = Pick<PromiseWithResolvers<number>, 'resolve' | 'reject'>;

/** The parts of a running agent, which know each other through this. */
interface Agent {
  readonly ready: Ready;
  readonly log: Log;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly client: ApiClient;
  readonly tracker: Tracker;
  readonly variant: IptablesVariant;
  readonly runtimes: Runtimes;
  readonly node: NodeWatch;
  readonly cluster: ClusterWatch;
  readonly observers: Observers;
  readonly nameCheck: NodeNameCheck;
  readonly history: ChangeHistory;
  /** One for each family that is served. */
  readonly loops: Map<Family, FamilyLoop>;
}

async function openAgent(ready: Ready, log: Log, clock: Clock, end: End): Promise<Agent> {
  const { configuration } = ready;
  const nodeName = nodeNameOf(configuration.hostnameOverride);
  const tracker = new Tracker();
  const variant = await pickVariant(configuration, log);
  const runtimes = new Runtimes({ configuration, tracker, clock, log, variant, onFatal: end.reject });
  const loops = new Map<Family, FamilyLoop>();
  const nameCheck = new NodeNameCheck(nodeName, log);
  const observers: Observers = new Observers({
    ready,
    nodeName,
    mode: configuration.mode,
    clock,
    log,
    readNfacct: (name) => runtimes.readCounter(name),
    watches: () => new Map([['nodes', node.status], ...cluster.status()]),
    drift: () => new Map([...loops].map(([family, loop]) => [family, loop.drift])),
    readCounts: () => readCounts(loops),
    ...(configuration.mode === 'userspace' && { readConnections: () => readConnections(loops) }),
  });
  const client = await apiClient(ready, log, clock, (report) => observers.requested(report));
  const requestSyncs = (): void => {
    allowCompilers(configuration.mode, tracker.serviceCount);
    for (const [family, loop] of loops) {
      if (cluster.isSynced && (tracker.needsSync(family) || !loop.hasSynced)) loop.requestSync();
    }
  };
  const streamsInitialState = isGateEnabled(ready.gates, 'WatchListClient');
  const node: NodeWatch = new NodeWatch({
    client,
    nodeName,
    clock,
    log: apiLog(log),
    streamsInitialState,
    onNode: (seen, previous) => {
      tracker.setNode(seen);
      observers.nodeSeen(seen);
      noteNodeChange(seen, previous, configuration.detectLocalMode === 'NodeCIDR', log, end.reject);
      requestSyncs();
    },
    onDeleted: () => log.info('Node was deleted; its last known state stays in use', { node: nodeName }),
  });
  const cluster: ClusterWatch = new ClusterWatch({
    client,
    tracker,
    clock,
    log: apiLog(log),
    streamsInitialState,
    watchesServiceCIDRs: configuration.mode === 'nftables',
    onChange: requestSyncs,
    onServiceEvent: () => observers.serviceEvents([...loops.keys()].map((family) => tracker.pending(family))),
    onSliceEvent: (slice) => {
      nameCheck.see(slice);
      observers.sliceEvent([...loops.keys()].map((family) => tracker.pending(family)));
    },
    onProblems: (object, problems) => observers.problems(object, problems),
  });
  return {
    ready,
    log,
    clock,
    nodeName,
    client,
    tracker,
    variant,
    runtimes,
    node,
    cluster,
    observers,
    nameCheck,
    loops,
    history: new ChangeHistory(),
  };
}

async function familyLoop(
  agent: Agent,
  settings: NodeSettings,
  family: Family,
  families: readonly Family[],
  console: AgentConsole | undefined,
): Promise<FamilyLoop> {
  const { ready, log, clock, nodeName, observers, runtimes, loops } = agent;
  const { configuration } = ready;
  const identity = {
    nodeName,
    nodeIPs: settings.addresses.ips,
    allowsExternalIPs: isGateEnabled(ready.gates, 'AllowServiceExternalIPs'),
  };
  const serviceHealth = new ServiceHealthServers({
    addresses: await runtimes.healthCheckAddresses(familyNodePorts(settings, family), family),
    isProxyHealthy: () => configuration.healthzBindAddress === '' || observers.isProxyHealthy,
    onBindFailure: (failure) => {
      const note = bindFailureNote(nodeName, failure);
      log.error(note, 'Failed to start service healthcheck');
      observers.listenEvent(failure.service, 'FailedToStartServiceHealthcheck', note);
    },
    onChange: (change, service, port) =>
      log.info(`Health-check port ${change}`, { ipFamily: family, service, port }, LISTENER_LEVEL),
  });
  let hasFailed = false;
  return new FamilyLoop({
    family,
    runtime: await runtimes.create(family, settings, identity),
    clock,
    log,
    metrics: observers.metrics,
    portolanMetrics: observers.portolanMetrics,
    serviceHealth,
    minSyncPeriodMs: inMilliseconds(configuration.minSyncPeriod),
    syncPeriodMs: inMilliseconds(configuration.syncPeriod),
    deleteStaleFlows: (flows) => runtimes.deleteStaleFlows(flows),
    deleteStrayConnections: (model) => runtimes.deleteStrayConnections(model),
    onQueued: (of) => observers.queued(of),
    onUpdated: (of) => observers.updated(of),
    onFirstSync: () => {
      const isLast = families.every((other) => other === family || loops.get(other)?.hasSynced);
      if (!isLast) return;
      agent.nameCheck.complain();
      void import('./daemon/cleanup.ts').then(({ removeOtherModes }) =>
        removeOtherModes({ mode: configuration.mode, variant: agent.variant }, log),
      );
    },
    onReport: (report) => {
      hasFailed = false;
      observers.nothingPending();
      agent.history.add(report, clock.wallNow());
      console?.synced(report);
    },
    onTrouble: (of, kind, text) => {
      console?.trouble(of, kind, text);
      if (kind !== 'sync-failed' || hasFailed) return;
      hasFailed = true; // one event for each row of failures: what fails on one node may fail on all of them
      observers.nodeEvent('Warning', 'SyncFailed', `${of}: ${text}`);
    },
  });
}

const LISTENER_LEVEL = 3;

/** Where nobody asked for it, nothing of it is loaded. */
async function openConsole(agent: Agent, settings: NodeSettings): Promise<AgentConsole | undefined> {
  const { ready, log, clock, nodeName, variant, node, observers, loops } = agent;
  if (ready.configuration.portolan.consoleBindAddress === '') return undefined;
  const { AgentConsole } = await import('./daemon/console.ts');
  return AgentConsole.open({
    ready,
    settings,
    log,
    clock,
    nodeName,
    variant,
    node: () => node.node,
    problems: () => observers.allProblems(),
    counts: () => readCounts(loops),
  });
}

async function readCounts(loops: ReadonlyMap<Family, FamilyLoop>): Promise<ReadonlyMap<Family, CountedServices>> {
  const counts = new Map<Family, CountedServices>();
  for (const [family, loop] of loops) {
    const ofFamily = await loop.counts();
    if (ofFamily) counts.set(family, ofFamily);
  }
  return counts;
}

async function readConnections(loops: ReadonlyMap<Family, FamilyLoop>): Promise<RelayedConnections> {
  const ofFamilies = await Promise.all([...loops.values()].map((loop) => loop.connections()));
  return allConnections(ofFamilies.filter((connections) => connections !== undefined));
}

function nodeNameOf(override: string): string {
  const name = (override || hostname()).trim().toLowerCase();
  if (name === '') throw new FatalError('empty hostname is invalid');
  return name;
}

async function apiClient(
  { configuration, master, version }: Ready,
  log: Log,
  clock: Clock,
  onRequest: ConstructorParameters<typeof ApiClient>[1]['onRequest'] & {},
): Promise<ApiClient> {
  const { kubeconfig, qps, burst } = configuration.clientConnection;
  const config = await loadApiConfig({ kubeconfig, master, env: process.env, log: apiLog(log) });
  return new ApiClient(config, {
    userAgent: userAgent(version, NO_COMMIT),
    qps,
    burst,
    clock,
    log: apiLog(log),
    onRequest,
  });
}

/** What Git calls the commit there is not: the version is upstream's, the build is not. */
const NO_COMMIT = '0'.repeat(40);

function apiLog(log: Log): ApiLog {
  return {
    info: (message, values) => log.info(message, values),
    error: (message, { err, ...values } = {}) => log.error(err ?? '', message, values),
  };
}

/** Nothing is written to the kernel before it is known who we are. */
async function waitForNode({ node, nodeName, log, ready }: Agent, signal: AbortSignal): Promise<void> {
  await node.synced(signal);
  const hasIps = await node.waitFor((seen) => (seen?.ips.length ?? 0) > 0, 30_000, signal);
  if (!hasIps && !signal.aborted) {
    if (node.node) log.error(`Node ${nodeName} has no addresses`, 'Timed out waiting for node to be assigned IPs');
    else {
      const consequence =
        'no endpoint counts as local, so Local traffic policies drop everything; check --hostname-override';
      log.error(`there is no Node named "${nodeName}"`, 'Timed out waiting for node to exist', { consequence });
    }
  }
  if (ready.configuration.detectLocalMode !== 'NodeCIDR') return;
  if (await node.waitFor((seen) => (seen?.podCIDRs.length ?? 0) > 0, 300_000, signal)) return;
  if (signal.aborted) return;
  throw new FatalError(
    node.node
      ? `timeout waiting for PodCIDR allocation on node "${nodeName}"`
      : `timeout waiting for node "${nodeName}" to exist`,
  );
}

function noteNodeChange(
  seen: Node,
  previous: Node | undefined,
  needsPodCIDR: boolean,
  log: Log,
  fail: (error: unknown) => void,
): void {
  if (!previous) return;
  const same = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();
  const complain = (message: string, values: LogValues): void => log.write({ severity: 'error', message, values });
  if (!same(seen.ips, previous.ips))
    complain('NodeIPs changed for the node', { node: seen.name, newNodeIPs: seen.ips, oldNodeIPs: previous.ips });
  if (needsPodCIDR && previous.podCIDRs.length > 0 && !same(seen.podCIDRs, previous.podCIDRs)) {
    complain('PodCIDRs changed for the node', {
      node: seen.name,
      newPodCIDRs: seen.podCIDRs,
      oldPodCIDRs: previous.podCIDRs,
    });
    fail(new FatalError('PodCIDRs changed for the node'));
  }
}

function noteOtherAgent(holder: AgentIdentity | undefined, log: Log): void {
  const who = holder ? { ...holder } : {};
  log.error("two agents would undo each other's rules", 'Another agent works on this node; waiting until it ends', who);
}

function nodeSettings({ configuration }: Ready, node: Node | undefined): NodeSettings {
  return {
    configuration,
    addresses: nodeAddresses(node?.ips ?? [], configuration.bindAddress),
    podCIDRs: node?.podCIDRs ?? [],
  };
}
