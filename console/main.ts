// The page: which node, which view, and what flows between them. Views are addressed by the part of the URL behind `#`.
import type {
  ChangeShape,
  MapShape,
  NodeShape,
  NodesShape,
  ProblemsShape,
  RatesShape,
  ServiceShape,
  TimelineShape,
  TroubleShape,
  VerifyShape,
} from '../src/observe/console/shapes.ts';
import type { TraceReport } from '../src/observe/trace/report.ts';
import { ask, keepToken, listen, TokenNeeded } from './api.ts';
import { timelineView } from './changes.ts';
import { byId, el } from './dom.ts';
import { MapView } from './map-view.ts';
import { problemsView } from './problems-view.ts';
import { ServiceList } from './service-list.ts';
import { ServiceView } from './service-view.ts';
import { Spark } from './spark.ts';
import { startTheme } from './theme.ts';

const VIEWS = [
  { id: 'service', text: 'Service', key: 's' },
  { id: 'map', text: 'Map', key: 'm' },
  { id: 'changes', text: 'Changes', key: 'c' },
  { id: 'problems', text: 'Problems', key: 'p' },
] as const;

class Page {
  readonly #main = byId('main');
  readonly #list: ServiceList;
  readonly #spark = new Spark(byId('traffic'));
  #nodes: NodesShape['nodes'] = [];
  #base = '';
  #node: NodeShape | undefined;
  #service = '';
  #view = '';
  #serviceView: ServiceView | undefined;
  #mapView: MapView | undefined;
  #stream: AbortController | undefined;
  #watched = '';
  /** Counts what was asked for; answers to older questions are not shown any more. */
  #turn = 0;

  constructor() {
    this.#list = new ServiceList(byId('services'), {
      load: (search, sort, offset, limit) =>
        this.#ask(`services?${new URLSearchParams({ search, sort, offset: String(offset), limit: String(limit) })}`),
      onChoose: (name) => {
        location.hash = `#/service/${name}`;
        if (matchMedia('(max-width: 800px)').matches) this.#main.focus();
      },
    });
    startTheme(byId('theme'));
    byId('help').addEventListener('click', () => showHelp());
    window.addEventListener('hashchange', () => void this.#route());
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  async start(): Promise<void> {
    try {
      this.#nodes = (await ask<NodesShape>('api/nodes')).nodes;
    } catch (error) {
      if (error instanceof TokenNeeded) return askForToken(() => void this.start());
      byId('status').replaceChildren(el('span', { class: 'lost' }, 'the agent does not answer'));
      window.setTimeout(() => void this.start(), 2000);
      return;
    }
    await this.#chooseNode(this.#nodes[0]!.name);
  }

  #ask<Shape>(path: string): Promise<Shape> {
    return ask<Shape>(`${this.#base}api/${path}`);
  }

  async #chooseNode(name: string): Promise<void> {
    this.#base = this.#nodes.find((node) => node.name === name)?.base ?? '';
    this.#closeViews();
    await this.#readNode();
    this.#list.reset();
    await this.#route();
  }

  async #readNode(): Promise<void> {
    this.#node = await this.#ask<NodeShape>('node');
    const { name, mode, zone } = this.#node;
    const chooser =
      this.#nodes.length > 1
        ? el(
            'select',
            {
              'aria-label': 'Node',
              onchange: (event: Event) => void this.#chooseNode((event.target as HTMLSelectElement).value),
            },
            ...this.#nodes.map((node) =>
              el('option', { value: node.name, ...(node.name === name && { selected: true }) }, node.name),
            ),
          )
        : el('b', {}, name);
    byId('node').replaceChildren(chooser, el('small', {}, [mode, zone && `zone ${zone}`].filter(Boolean).join(' · ')));
    this.#showTabs();
  }

  #showTabs(): void {
    const problems = this.#node?.problems ?? 0;
    byId('views').replaceChildren(
      ...VIEWS.map(({ id, text, key }) =>
        el(
          'a',
          {
            href: id === 'service' ? `#/service/${this.#service}` : `#/${id}`,
            title: `key ${key}`,
            ...(id === this.#view && { 'aria-current': 'page' }),
          },
          text,
          id === 'problems' && problems > 0 && el('span', { class: 'bubble' }, String(problems)),
        ),
      ),
    );
  }

  async #route(): Promise<void> {
    const [, view = 'service', ...rest] = location.hash.split('/');
    this.#view = VIEWS.some(({ id }) => id === view) ? view : 'service';
    const turn = ++this.#turn;
    try {
      if (this.#view === 'service') await this.#openService(decodeURIComponent(rest.join('/')), turn);
      else await this.#openPage(turn);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#main.replaceChildren(el('p', { class: 'page bad' }, (error as Error).message));
    }
    this.#showTabs();
  }

  async #openService(wanted: string, turn: number): Promise<void> {
    const name = wanted || this.#service || ((await this.#list.first()) ?? '');
    if (name === '') {
      this.#main.replaceChildren(el('p', { class: 'page quiet' }, 'There are no services yet.'));
      this.#watch('');
      return;
    }
    const [service, { changes }] = await Promise.all([
      this.#ask<ServiceShape>(`services/${name}`),
      this.#ask<TimelineShape>('timeline'),
    ]);
    if (turn !== this.#turn) return;
    if (!this.#serviceView) {
      this.#closeViews();
      this.#serviceView = new ServiceView({
        hasCounters: this.#node?.hasCounters ?? false,
        trace: (from, to) => this.#ask<TraceReport>(`trace?${new URLSearchParams({ from, to })}`),
      });
      this.#main.replaceChildren(this.#serviceView.element);
    }
    this.#service = name;
    this.#serviceView.show(service, changes);
    this.#list.choose(name);
    document.title = `${name} · Portolan`;
    this.#watch(name);
  }

  async #openPage(turn: number): Promise<void> {
    const view = this.#view;
    if (view === 'map') {
      const map = await this.#ask<MapShape>('map');
      if (turn !== this.#turn) return;
      this.#closeViews();
      this.#mapView = new MapView(map, this.#nodes.length > 1 ? (name) => void this.#chooseNode(name) : undefined);
      this.#main.replaceChildren(this.#mapView.element);
      this.#watch('*');
    } else if (view === 'changes') {
      const { changes } = await this.#ask<TimelineShape>('timeline');
      if (turn !== this.#turn) return;
      this.#closeViews();
      this.#main.replaceChildren(timelineView(changes));
      this.#watch('');
    } else {
      const problems = await this.#ask<ProblemsShape>('problems');
      if (turn !== this.#turn) return;
      this.#closeViews();
      this.#main.replaceChildren(problemsView(problems, { verify: () => this.#ask<VerifyShape>('verify') }));
      this.#watch('');
    }
    document.title = `${VIEWS.find(({ id }) => id === view)!.text} · Portolan`;
  }

  #closeViews(): void {
    this.#serviceView?.close();
    this.#mapView?.close();
    this.#serviceView = undefined;
    this.#mapView = undefined;
  }

  /** One stream at a time; it brings the rates of what is shown. The same one goes on while the same is shown. */
  #watch(service: string): void {
    const path = `${this.#base}api/events?${new URLSearchParams({ service })}`;
    if (path === this.#watched) return;
    this.#watched = path;
    this.#stream?.abort();
    const stream = new AbortController();
    this.#stream = stream;
    const status = byId('status');
    const handlers = {
      connected: () => {
        status.replaceChildren(el('span', { class: 'live' }, 'live'));
        void this.#catchUp();
      },
      lost: () => status.replaceChildren(el('span', { class: 'lost' }, 'connection lost')),
      event: (name: string, data: unknown) => {
        if (name === 'rates') this.#showRates(data as RatesShape);
        else if (name === 'change') void this.#changed(data as ChangeShape);
        else if (name === 'trouble') void this.#troubled(data as TroubleShape);
      },
    };
    void listen(path, handlers, stream.signal);
  }

  /** What happened before the stream stood was told to nobody. */
  async #catchUp(): Promise<void> {
    this.#list.refresh();
    await this.#readNode();
    await this.#route();
  }

  #showRates(rates: RatesShape): void {
    this.#spark.add(rates.total);
    this.#list.showRates(new Map(rates.services));
    this.#serviceView?.showRates(rates);
    this.#mapView?.show(rates);
  }

  async #changed(change: ChangeShape): Promise<void> {
    this.#list.refresh();
    const isShown = change.services.includes(this.#service) || change.changed > change.services.length;
    await this.#readNode();
    if (this.#view === 'changes' || this.#view === 'map') await this.#route();
    else if (this.#view === 'service' && isShown) await this.#route();
  }

  async #troubled({ kind, text, mendedAt, family }: TroubleShape): Promise<void> {
    if (mendedAt === undefined) notify(`${kind === 'drift' ? 'Drift' : 'Sync failed'} (${family}): ${text}`, 'bad');
    else notify(`Put right (${family}): ${text}`, 'good');
    await this.#readNode();
    if (this.#view === 'problems') await this.#route();
  }

  #key(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const view = VIEWS.find(({ key }) => key === event.key);
    if (event.key === '/') this.#list.focusSearch();
    else if (event.key === 't') this.#serviceView?.focusTrace();
    else if (event.key === '?') showHelp();
    else if (view) location.hash = view.id === 'service' ? `#/service/${this.#service}` : `#/${view.id}`;
    else return;
    event.preventDefault();
  }
}

const NOTICE_MS = 8000;

function notify(text: string, kind: 'good' | 'bad'): void {
  const notice = el('p', { class: `notice ${kind}` }, text);
  byId('notices').append(notice);
  window.setTimeout(() => notice.remove(), NOTICE_MS);
}

function openDialog(...children: readonly HTMLElement[]): HTMLDialogElement {
  const dialog = byId('dialog') as HTMLDialogElement;
  dialog.replaceChildren(...children);
  if (!dialog.open) dialog.showModal();
  return dialog;
}

function showHelp(): void {
  const keys = [
    ['/', 'search'],
    ['↓ ↑ Enter', 'choose a service'],
    ['t', 'trace'],
    ...VIEWS.map(({ key, text }) => [key, text]),
    ['Tab Enter', 'rules of an edge or a box'],
    ['?', 'this'],
  ];
  const close = el('button', { type: 'button', class: 'primary' }, 'Close');
  const dialog = openDialog(
    el('h2', {}, 'Keys'),
    el('dl', {}, ...keys.flatMap(([key, text]) => [el('dt', {}, el('kbd', {}, key!)), el('dd', {}, text!)])),
    close,
  );
  close.addEventListener('click', () => dialog.close());
}

function askForToken(retry: () => void): void {
  const input = el('input', {
    type: 'password',
    'aria-label': 'Token',
    autocomplete: 'current-password',
    required: true,
  });
  const form = el(
    'form',
    { method: 'dialog' },
    el('h2', {}, 'This console needs a token'),
    el('p', {}, 'It is in the file that the agent was given as --console-token-file.'),
    input,
    el('button', { class: 'primary' }, 'Open'),
  );
  const dialog = openDialog(form);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    keepToken(input.value.trim());
    dialog.close();
    retry();
  });
}

await new Page().start();
