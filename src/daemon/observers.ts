// What the agent tells of itself: metrics, health, the two servers, events. In: the configuration and where to ask. Out: one value
// that the rest of the agent reports to.
import { arch, hostname } from 'node:os';
import type { ApiClient, RequestReport } from '../api/client/client.ts';
import { EventRecorder } from '../api/events.ts';
import type { Node, Problem } from '../api/objects.ts';
import type { WatchStatus } from '../api/watch.ts';
import { isGateEnabled } from '../config/feature-gates.ts';
import type { Ready } from '../config/options.ts';
import { documentOf } from '../config/write.ts';
import type { Clock } from '../lib/clock.ts';
import { inMilliseconds } from '../lib/duration.ts';
import type { Family } from '../lib/ip.ts';
import type { ModeName } from '../modes/mode.ts';
import type { RelayedConnections } from '../modes/userspace/relay-host.ts';
import { addComponentMetrics } from '../observe/component-metrics.ts';
import {
  apiLost,
  apiReached,
  type HealthState,
  isHealthy,
  nodeSeen,
  queued,
  startHealth,
  updated,
} from '../observe/health.ts';
import { startHealthServer, startMetricsServer } from '../observe/http-servers.ts';
import type { Log } from '../observe/log.ts';
import { ProblemLog } from '../observe/log-problems.ts';
import { Registry } from '../observe/metrics.ts';
import { createPortolanMetrics, type PortolanMetrics } from '../observe/portolan-metrics.ts';
import { addProcessMetrics } from '../observe/process-metrics.ts';
import { createProxyMetrics, type ProxyMetrics, type ReadNfacct } from '../observe/proxy-metrics.ts';
import { createRestClientMetrics } from '../observe/rest-client-metrics.ts';
import { addServiceMetrics, type ReadCounts } from '../observe/service-metrics.ts';
import type { CheckNews } from './self-check.ts';

export interface ObserverOptions {
  readonly ready: Ready;
  readonly nodeName: string;
  readonly mode: ModeName;
  readonly clock: Clock;
  readonly log: Log;
  readonly readNfacct: ReadNfacct;
  /** Each watch of the API server, by resource. */
  readonly watches: () => ReadonlyMap<string, WatchStatus>;
  readonly drift: () => ReadonlyMap<Family, number>;
  readonly readCounts: ReadCounts;
  /** Undefined where the kernel has the connections. */
  readonly readConnections?: () => Promise<RelayedConnections>;
}

interface Pending {
  readonly services: number;
  readonly slices: number;
}

/** A watch between two connections is no outage; one that stays away this long is. */
const OUTAGE_MS = 10_000;

export class Observers {
  readonly registry = new Registry();
  readonly metrics: ProxyMetrics;
  readonly portolanMetrics: PortolanMetrics;
  readonly #options: ObserverOptions;
  readonly #rest: ReturnType<typeof createRestClientMetrics>;
  readonly #problems: ProblemLog;
  #health: HealthState;
  #events: EventRecorder | undefined;

  constructor(options: ObserverOptions) {
    const { ready, mode, clock, readNfacct } = options;
    this.#options = options;
    this.#problems = new ProblemLog(options.log);
    this.#health = startHealth(inMilliseconds(ready.configuration.syncPeriod));
    this.metrics = createProxyMetrics(this.registry, mode, readNfacct);
    this.#rest = createRestClientMetrics(this.registry);
    this.portolanMetrics = createPortolanMetrics(this.registry, {
      apiFreshnessSeconds: () =>
        new Map(
          [...options.watches()].map(([resource, { lastContact }]) => [
            resource,
            (clock.now() - (lastContact ?? 0)) / 1000,
          ]),
        ),
      problems: () => this.#problems.all.length,
      driftFound: options.drift,
    });
    if (ready.configuration.portolan.serviceMetrics) addServiceMetrics(this.registry, options.readCounts);
    addProcessMetrics(this.registry);
    addComponentMetrics(this.registry, buildInfo(ready.version), componentGates(ready));
  }

  /** Both servers listen from now on, or keep trying. `onFatal`: bindAddressHardFail is set and an address is taken. */
  serve(onFatal: (error: Error) => void): { close(): Promise<void> } {
    const { ready, mode, clock, log, readConnections } = this.#options;
    const { configuration } = ready;
    const startedAt = clock.wallNow();
    const listening = (name: string, bindAddress: string, reason: string) => ({
      bindAddress,
      isHardFail: configuration.bindAddressHardFail,
      onRetry: (error: Error) => log.error(error, name),
      onListening: () => log.info('Listening', { bindAddress }, 3),
      onFatal: (error: Error) => {
        this.nodeEvent('Warning', reason, error.message);
        onFatal(error);
      },
      onPageError: (error: unknown) => log.error(error, 'A page could not be made'),
    });
    const servers = [
      ...(configuration.healthzBindAddress === ''
        ? []
        : [
            startHealthServer(
              {
                state: () => this.#currentHealth(),
                clock,
                countAnswer: (path, status) => {
                  const answers = path === 'healthz' ? this.metrics.healthzAnswers : this.metrics.livezAnswers;
                  answers.of({ code: String(status) }).increment();
                },
              },
              listening('Healthz server failed', configuration.healthzBindAddress, 'FailedToStartProxierHealthcheck'),
            ),
          ]),
      startMetricsServer(
        {
          registry: this.registry,
          modeName: mode,
          config: () => documentOf(configuration),
          ...(isGateEnabled(ready.gates, 'ComponentFlagz') && { flags: () => Object.fromEntries(ready.flags) }),
          ...(isGateEnabled(ready.gates, 'ComponentStatusz') && {
            status: () => ({
              startedAt,
              goVersion: `node${process.versions.node}`,
              binaryVersion: ready.version.slice(1),
              emulationVersion: ready.version.slice(1).split('.').slice(0, 2).join('.'),
            }),
          }),
          wallNow: () => clock.wallNow(),
          ...(readConnections && { connections: readConnections }),
          ...(configuration.enableProfiling && { setVerbosity: (level: number) => log.setVerbosity(level) }),
        },
        listening('starting metrics server failed', configuration.metricsBindAddress, 'FailedToStartMetricServer'),
      ),
    ];
    return {
      close: async () => {
        await Promise.all(servers.map((server) => server.close()));
      },
    };
  }

  get isProxyHealthy(): boolean {
    return isHealthy(this.#health, this.#options.clock.now());
  }

  queued(family: Family): void {
    this.#health = queued(this.#health, family, this.#options.clock.now());
  }

  updated(family: Family): void {
    this.#health = updated(this.#health, family, this.#options.clock.wallNow());
  }

  nodeSeen(node: Node): void {
    this.#health = nodeSeen(this.#health, node);
  }

  /** A Service came, changed or went; `pending` is what each family has not applied yet. */
  serviceEvents(pending: readonly Pending[]): void {
    this.metrics.serviceChanges.increment(pending.length);
    this.metrics.serviceChangesPending.set(Math.max(0, ...pending.map(({ services }) => services)));
  }

  sliceEvent(pending: readonly Pending[]): void {
    this.metrics.endpointChanges.increment();
    this.metrics.endpointChangesPending.set(pending.reduce((sum, { slices }) => sum + slices, 0));
  }

  /** What a self-check found. */
  checked(family: Family, { cases, mismatches, first }: CheckNews): void {
    this.portolanMetrics.checkedCases.of({ ip_family: family }).set(cases);
    this.portolanMetrics.mismatches.of({ ip_family: family }).set(mismatches);
    if (first === undefined) return;
    const rest = mismatches > 1 ? ` (and ${mismatches - 1} more)` : '';
    this.nodeEvent('Warning', 'RulesMismatch', `${family}: ${first}${rest}`);
  }

  nothingPending(): void {
    this.metrics.serviceChangesPending.set(0);
    this.metrics.endpointChangesPending.set(0);
  }

  /** Of all objects, as of now. */
  allProblems(): readonly Problem[] {
    return this.#problems.all;
  }

  /** The problems of one object, as of now. */
  problems(object: string, problems: readonly Problem[]): void {
    this.#problems.report(object, problems);
  }

  requested(report: RequestReport): void {
    const { method, host, code, retriedAfter, rateLimitedSeconds, ...measured } = report;
    this.#rest.requested({ method, host, code, ...measured });
    this.#rest.waited({ method, host, seconds: rateLimitedSeconds });
    if (retriedAfter !== undefined) this.#rest.retried({ method, host, code: retriedAfter });
  }

  recordEventsWith(client: ApiClient): void {
    const { clock, log } = this.#options;
    this.#events = new EventRecorder({
      client,
      hostname: hostname(),
      clock,
      log: { info: (text, values) => log.info(text, values, 2), error: (text, values) => log.info(text, values, 2) },
    });
  }

  /** Resolves when all events so far have been sent, or given up. */
  async eventsSent(): Promise<void> {
    await this.#events?.idle();
  }

  nodeEvent(type: 'Normal' | 'Warning', reason: string, note: string): void {
    const regarding = { apiVersion: 'v1', kind: 'Node', name: this.#options.nodeName };
    this.#events?.record({ type, reason, action: 'StartKubeProxy', regarding, note });
  }

  /** A warning about the health-check port of a Service. */
  listenEvent(service: { readonly namespace: string; readonly name: string }, reason: string, note: string): void {
    const { namespace, name } = service;
    this.#events?.record({
      type: 'Warning',
      reason,
      action: 'Listen',
      regarding: { apiVersion: 'v1', kind: 'Service', namespace, name },
      note,
    });
  }

  /** Cut off from the API server, the agent says since when; the kernel goes on serving, so health itself does not change. */
  #currentHealth(): HealthState {
    const { clock, watches } = this.#options;
    const lost = [...watches().values()].filter(
      ({ isConnected, lastContact }) =>
        !isConnected && lastContact !== undefined && clock.now() - lastContact > OUTAGE_MS,
    );
    if (lost.length === 0) this.#health = apiReached(this.#health);
    else
      this.#health = apiLost(
        this.#health,
        clock.wallNow() - (clock.now() - Math.min(...lost.map(({ lastContact }) => lastContact!))),
      );
    return this.#health;
  }
}

function buildInfo(version: string) {
  const [major = '', minor = ''] = version.slice(1).split('.');
  return {
    major,
    minor,
    gitVersion: version,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '',
    goVersion: `node${process.versions.node}`,
    compiler: 'v8',
    platform: `linux/${arch() === 'x64' ? 'amd64' : arch()}`,
  };
}

function componentGates({ gates }: Ready) {
  return gates.map(({ name, stage, isEnabled }) => ({
    name,
    stage: stage === 'ALPHA' || stage === 'BETA' || stage === 'DEPRECATED' ? stage : ('' as const),
    isEnabled,
  }));
}
