// The two servers every kube-proxy has: health (10256), which load balancers and autoscalers ask, and metrics (10249), which
// operators ask. In: plain values and functions that tell the current state. Nothing here changes the proxy but the verbosity.
import { gzipSync } from 'node:zlib';
import type { Clock } from '../lib/clock.ts';
import { connectionsText } from '../modes/userspace/connections-page.ts';
import type { RelayedConnections } from '../modes/userspace/relay-host.ts';
import { negotiateExposition, printMetrics } from './exposition.ts';
import { type HealthState, healthzAnswer, livezAnswer } from './health.ts';
import { type KeepListeningOptions, keepListening, type Listening } from './listen.ts';
import type { Registry } from './metrics.ts';
import { debugPages } from './profiling.ts';
import { type Page, PLAIN_TEXT, type Reply, reply, servePages } from './reply.ts';
import { createIndicators, type HealthCheckIndicators } from './slis.ts';
import { flagzReply, SEPARATORS, type Separator, type Status, statuszReply } from './zpages.ts';

/** How a server comes to listen, and whom it tells. */
export interface ServerOptions extends Omit<KeepListeningOptions, 'answer'> {
  /** A page could not be made, or a metric could not be read; the server goes on. */
  readonly onPageError: (error: unknown) => void;
}

export interface HealthSources {
  readonly state: () => HealthState;
  readonly clock: Pick<Clock, 'now' | 'wallNow'>;
  readonly countAnswer: (path: 'healthz' | 'livez', status: 200 | 503) => void;
}

export interface MetricsSources {
  readonly registry: Registry;
  /** What `/proxyMode` answers: `iptables`. */
  readonly modeName: string;
  /** The v1alpha1 document, defaults filled in. */
  readonly config: () => object;
  /** By name without dashes; absent when the gate ComponentFlagz is off. */
  readonly flags?: () => Readonly<Record<string, string>>;
  /** Absent when the gate ComponentStatusz is off. */
  readonly status?: () => Omit<Status, 'paths'>;
  readonly wallNow: () => number;
  /** Absent where the kernel has the connections. */
  readonly connections?: () => Promise<RelayedConnections>;
  /** Absent unless profiling is on: then there is no page under `/debug` either. */
  readonly setVerbosity?: (level: number) => void;
}

/** Fatal and retried errors read as upstream's: `healthz server failed: failed to start proxy healthz on ...`. */
export function startHealthServer(sources: HealthSources, options: ServerOptions): Listening {
  const failure = (error: Error): Error =>
    new Error(`failed to start proxy healthz on ${options.bindAddress}: ${error.message}`, { cause: error.cause });
  return keepListening({
    ...options,
    answer: servePages(healthPages(sources), options.onPageError),
    onRetry: (error) => options.onRetry(failure(error)),
    onFatal: (error) => options.onFatal(new Error(`healthz server failed: ${failure(error).message}`)),
  });
}

export function startMetricsServer(sources: MetricsSources, options: ServerOptions): Listening {
  return keepListening({
    ...options,
    answer: servePages(metricsPages(sources, options.onPageError), options.onPageError),
    onFatal: (error) => options.onFatal(new Error(`starting metrics server failed: ${error.message}`)),
  });
}

function healthPages({ state, clock, countAnswer }: HealthSources): ReadonlyMap<string, Page> {
  const page =
    (path: 'healthz' | 'livez', ask: typeof healthzAnswer): Page =>
    () => {
      const { status, body } = ask(state(), { now: clock.now(), wallNow: clock.wallNow() });
      countAnswer(path, status);
      return reply(status, 'application/json', body);
    };
  return new Map([
    ['/healthz', page('healthz', healthzAnswer)],
    ['/livez', page('livez', livezAnswer)],
  ]);
}

function metricsPages(sources: MetricsSources, onPageError: (error: unknown) => void): ReadonlyMap<string, Page> {
  const { registry, modeName, config, flags, status, wallNow, connections, setVerbosity } = sources;
  const indicators = createIndicators();
  const separator = SEPARATORS[Math.floor(Math.random() * SEPARATORS.length)] as Separator;
  const pages = new Map<string, Page>([
    ['/healthz', (_, url) => pingReply(url, indicators)],
    ['/healthz/ping', () => reply(200, PLAIN_TEXT, 'ok')],
    ['/proxyMode', () => reply(200, PLAIN_TEXT, modeName)],
    ['/metrics', scrapePage(registry, onPageError)],
    ['/metrics/slis', indicatorsPage(indicators, onPageError)],
    ['/configz', () => reply(200, 'application/json', JSON.stringify({ 'kubeproxy.config.k8s.io': config() }))],
  ]);
  if (connections) pages.set('/connections', (_, url) => connectionsReply(connections, url, wallNow()));
  if (flags) pages.set('/flagz', (request) => flagzReply(request.headers.accept, flags(), separator));
  if (status) {
    const paths = LISTED_PATHS.filter((path) => pages.has(path));
    pages.set('/statusz', (request) =>
      statuszReply(request.headers.accept, { ...status(), paths }, separator, wallNow()),
    );
  }
  return new Map([...pages, ...(setVerbosity ? debugPages(setVerbosity) : [])]);
}

const LISTED_PATHS = ['/configz', '/connections', '/flagz', '/healthz', '/metrics', '/proxyMode'];

/** For people; for programs with `?format=json`. */
async function connectionsReply(read: () => Promise<RelayedConnections>, url: URL, wallNow: number): Promise<Reply> {
  const connections = await read();
  if (url.searchParams.get('format') === 'json') return reply(200, 'application/json', JSON.stringify(connections));
  return reply(200, PLAIN_TEXT, connectionsText(connections, wallNow));
}

/** Whoever reaches this page has reached a living process, so its only check always passes. */
function pingReply(url: URL, indicators: HealthCheckIndicators): Reply {
  const excluded = url.searchParams.getAll('exclude').flatMap((value) => value.split(','));
  const isPingExcluded = excluded.includes('ping');
  if (!isPingExcluded) indicators.passed('ping');
  if (!url.searchParams.has('verbose')) return reply(200, PLAIN_TEXT, 'ok');
  const unknown = excluded.filter((name) => name !== 'ping' && name !== '');
  const lines = [
    isPingExcluded ? '[+]ping excluded: ok' : '[+]ping ok',
    ...(unknown.length > 0 ? [`warn: no such check to exclude: ${unknown.join(', ')}`] : []),
    'healthz check passed',
  ];
  return reply(200, PLAIN_TEXT, lines.map((line) => `${line}\n`).join(''));
}

function scrapePage(registry: Registry, onPageError: (error: unknown) => void): Page {
  return async (request) => {
    const exposition = negotiateExposition(request.headers.accept);
    const families = await registry.gather((name, cause) =>
      onPageError(new Error(`metric ${name} cannot be read`, { cause })),
    );
    const text = printMetrics(families, exposition);
    const headers = { 'Content-Type': exposition.contentType };
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return { status: 200, headers, body: text };
    return { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: gzipSync(text) };
  };
}

function indicatorsPage(indicators: HealthCheckIndicators, onPageError: (error: unknown) => void): Page {
  const scrape = scrapePage(indicators.registry, onPageError);
  return (request, url, response) => {
    if (request.method !== 'DELETE') return scrape(request, url, response);
    indicators.reset();
    return reply(200, PLAIN_TEXT, 'metrics reset\n');
  };
}
