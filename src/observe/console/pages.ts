// The console's pages: the JSON behind `api/`, and the files of the page itself. All of it only shows.
import type { RequestListener } from 'node:http';
import type { Family } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import { type Page, PLAIN_TEXT, type Reply, reply, servePages } from '../reply.ts';
import type { TraceReport } from '../trace/report.ts';
import { refusal } from './access.ts';
import { type CounterWatch, ratesShape, type Sample, serviceRates } from './counter-watch.ts';
import { streamEvents } from './events.ts';
import { pageFile, SECURITY_HEADERS } from './page-files.ts';
import {
  type CountersOf,
  type DrawPort,
  mapShape,
  serviceShape,
  servicesByFrontend,
  servicesShape,
} from './services.ts';
import type { NodeShape, NodesShape, ProblemsShape, RatesShape, VerifyShape } from './shapes.ts';
import type { ConsoleState } from './state.ts';
import { TraceQuestionError } from './trace-ends.ts';

export interface ConsoleSources {
  readonly state: ConsoleState;
  readonly node: () => Omit<NodeShape, 'families' | 'services' | 'endpoints' | 'lastSync' | 'problems' | 'hasCounters'>;
  readonly draw: DrawPort;
  readonly countersOf: CountersOf;
  /** Absent where the mode counts nothing. */
  readonly counters: CounterWatch | undefined;
  readonly objectProblems: () => ProblemsShape['objects'];
  readonly trace: (from: string, to: string) => Promise<TraceReport>;
  readonly verify: () => Promise<VerifyShape>;
  /** What API requests must show; undefined: nothing. */
  readonly token: string | undefined;
  readonly onError: (error: unknown) => void;
}

export function consoleListener(sources: ConsoleSources): RequestListener {
  const pages = servePages(consolePages(sources), sources.onError);
  return (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const no = refusal(request, url, sources.token);
    if (!no) return pages(request, response);
    response.writeHead(no.status, { ...SECURITY_HEADERS, 'Content-Type': PLAIN_TEXT });
    response.end(`${no.text}\n`);
  };
}

const MAX_ROWS = 500;

function consolePages(sources: ConsoleSources): ReadonlyMap<string, Page> {
  const { state } = sources;
  const index = new FrontendIndex();
  const models = (): readonly NodeModel[] => [...state.reports.values()].map(({ model }) => model);
  const rates = (): ReadonlyMap<string, number> => {
    const sample = sources.counters?.sample;
    return sample ? serviceRates(sample, index.of(models())) : new Map();
  };
  const ratesFor = (name: string | null): ((sample: Sample) => RatesShape) => {
    return (sample) => ratesShape(sample, index.of(models()), countersWanted(name, sources, models()));
  };
  return new Map<string, Page>([
    ['/api/nodes', () => json({ nodes: [{ name: sources.node().name, base: '' }] } satisfies NodesShape)],
    ['/api/node', () => json(nodeShape(sources, models()))],
    [
      '/api/services',
      (_, { searchParams: asked }) =>
        json(
          servicesShape(
            models(),
            {
              search: asked.get('search') ?? '',
              sort: asked.get('sort') === 'rate' ? 'rate' : 'name',
              offset: whole(asked.get('offset'), 0),
              limit: Math.min(whole(asked.get('limit'), 100), MAX_ROWS),
            },
            rates(),
          ),
        ),
    ],
    [
      '/api/services/*',
      (_, url) => {
        const name = decodeURIComponent(url.pathname.slice('/api/services/'.length));
        const found = serviceShape(name, models(), sources.draw);
        return found ? json(found) : refuse(404, `there is no Service ${name}`);
      },
    ],
    ['/api/map', () => json(mapShape(sources.node().name, models(), sources.countersOf))],
    ['/api/timeline', () => json({ changes: state.changes })],
    [
      '/api/problems',
      () => json({ objects: sources.objectProblems(), troubles: state.troubles } satisfies ProblemsShape),
    ],
    ['/api/trace', (_, { searchParams: asked }) => traceReply(sources, asked)],
    ['/api/verify', () => walked(sources.verify)],
    ['/api/counters', (_, { searchParams: asked }) => countersReply(sources, ratesFor(asked.get('service')))],
    [
      '/api/events',
      (request, { searchParams: asked }, response) => {
        streamEvents(request, response, { state, counters: sources.counters, rates: ratesFor(asked.get('service')) });
        return undefined;
      },
    ],
    ['/*', (_, { pathname }) => pageFile(pathname)],
  ]);
}

/** The addresses of all services, indexed anew when a model is new and somebody asks. */
class FrontendIndex {
  #models: readonly NodeModel[] = [];
  #names: ReadonlyMap<string, string> = new Map();

  of(models: readonly NodeModel[]): ReadonlyMap<string, string> {
    if (models.length !== this.#models.length || models.some((model, i) => model !== this.#models[i])) {
      this.#models = models;
      this.#names = servicesByFrontend(models);
    }
    return this.#names;
  }
}

function nodeShape(sources: ConsoleSources, models: readonly NodeModel[]): NodeShape {
  const { state } = sources;
  const open = state.troubles.filter(({ mendedAt }) => mendedAt === undefined).length;
  return {
    ...sources.node(),
    families: [...state.reports.keys()] as readonly Family[],
    services: new Set(models.flatMap(({ services }) => [...services.keys()])).size,
    endpoints: models.reduce((sum, { endpointCount }) => sum + endpointCount, 0),
    hasCounters: sources.counters !== undefined,
    lastSync: state.changes[0],
    problems: open + sources.objectProblems().length,
  };
}

/** `*` asks for the edges that lead to endpoints, of all services: the map's. */
function countersWanted(name: string | null, sources: ConsoleSources, models: readonly NodeModel[]): readonly string[] {
  if (name === null || name === '') return [];
  if (name === '*') {
    const { nodes } = mapShape(sources.node().name, models, sources.countersOf);
    return nodes.flatMap(({ endpoints }) => endpoints.flatMap(({ counters }) => counters));
  }
  const found = serviceShape(name, models, sources.draw);
  return found?.ports.flatMap(({ picture }) => picture.edges.flatMap(({ counter }) => counter ?? [])) ?? [];
}

/** Two looks at the counters, for those who do not stay. */
async function countersReply({ counters }: ConsoleSources, rates: (sample: Sample) => RatesShape): Promise<Reply> {
  if (!counters) return refuse(501, 'this mode counts nothing; see serviceMetrics');
  const sample = await new Promise<Sample>((resolve) => {
    let looks = counters.sample ? 1 : 2;
    const end = counters.watch((seen) => {
      if (--looks > 0) return;
      resolve(seen);
      queueMicrotask(() => end());
    });
  });
  return json(rates(sample));
}

async function traceReply({ trace }: ConsoleSources, asked: URLSearchParams): Promise<Reply> {
  const [from, to] = [asked.get('from') ?? '', asked.get('to') ?? ''];
  if (from === '' || to === '') return refuse(400, 'both from and to are needed');
  return walked(() => trace(from, to));
}

/** What cannot be walked is said with its reason. */
async function walked(walk: () => Promise<object>): Promise<Reply> {
  try {
    return json(await walk());
  } catch (error) {
    if (error instanceof TraceQuestionError) return refuse(400, error.message);
    throw error;
  }
}

function json(value: object): Reply {
  return {
    status: 200,
    headers: { ...SECURITY_HEADERS, 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  };
}

function refuse(status: number, text: string): Reply {
  return { ...reply(status, PLAIN_TEXT, `${text}\n`), headers: { ...SECURITY_HEADERS, 'Content-Type': PLAIN_TEXT } };
}

function whole(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}
