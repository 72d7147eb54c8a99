// The list of services. Only rows in sight exist as elements, and only pages in sight are asked for, so that ten thousand
// services cost as much as twenty. One stop for the keyboard: arrows move the choice, Enter takes it.
import type { ServiceRow, ServicesShape } from '../src/observe/console/shapes.ts';
import { el } from './dom.ts';
import { nameParts, rateText } from './format.ts';

export interface ServiceListOptions {
  readonly load: (search: string, sort: string, offset: number, limit: number) => Promise<ServicesShape>;
  readonly onChoose: (name: string) => void;
}

const ROW = 56;
const PAGE = 100;
const SPARE = 4;
const TYPING_MS = 120;

export class ServiceList {
  readonly #options: ServiceListOptions;
  readonly #search = el('input', {
    type: 'search',
    placeholder: 'Search services or addresses',
    'aria-label': 'Search services',
    spellcheck: 'false',
    autocomplete: 'off',
  });
  readonly #sort = el(
    'button',
    { type: 'button', class: 'sort', 'aria-pressed': 'false', title: 'Busiest first' },
    'busiest',
  );
  readonly #count = el('span', { class: 'count', role: 'status' });
  readonly #rows = el('div', { class: 'rows' });
  readonly #list = el('div', { class: 'list', role: 'listbox', tabindex: 0, 'aria-label': 'Services' }, this.#rows);
  readonly #pages = new Map<number, readonly ServiceRow[]>();
  readonly #loading = new Map<number, Promise<void>>();
  #matching = 0;
  #total = 0;
  #chosen = '';
  #active = 0;
  #generation = 0;
  #rates: ReadonlyMap<string, number> = new Map();
  #typing = 0;

  constructor(root: HTMLElement, options: ServiceListOptions) {
    this.#options = options;
    root.append(
      el('div', { class: 'search' }, this.#search, el('div', { class: 'search-foot' }, this.#count, this.#sort)),
      this.#list,
    );
    this.#list.addEventListener('scroll', () => this.#render());
    new ResizeObserver(() => this.#render()).observe(this.#list);
    this.#search.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => this.#restart(), TYPING_MS);
    });
    this.#search.addEventListener('keydown', (event) => this.#keyInSearch(event));
    this.#list.addEventListener('keydown', (event) => this.#key(event));
    this.#sort.addEventListener('click', () => {
      this.#sort.setAttribute('aria-pressed', String(!this.#isByRate));
      this.#restart();
    });
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  /** The first service, once the list is there. */
  async first(): Promise<string | undefined> {
    await this.#load(0);
    return this.#row(0)?.name;
  }

  /** The same one again leaves the keyboard's place alone. */
  choose(name: string): void {
    const index = name === this.#chosen ? undefined : this.#indexOf(name);
    this.#chosen = name;
    if (index !== undefined) this.#active = index;
    this.#render();
  }

  /** Something changed: what is shown is asked for again, and stays in sight meanwhile. */
  refresh(): void {
    this.#generation++;
    this.#loading.clear();
    const pages = [...this.#pages.keys()];
    for (const page of pages) if (!this.#isInSight(page)) this.#pages.delete(page);
    for (const page of pages.length === 0 ? [0] : pages) if (this.#isInSight(page)) void this.#load(page);
    this.#render(); // asks again for rows in sight whose answer, still on its way, is now out of date
  }

  /** For another node. */
  reset(): void {
    this.#restart();
  }

  showRates(rates: ReadonlyMap<string, number>): void {
    this.#rates = rates;
    this.#render();
  }

  get #isByRate(): boolean {
    return this.#sort.getAttribute('aria-pressed') === 'true';
  }

  #restart(): void {
    this.#generation++;
    this.#pages.clear();
    this.#loading.clear();
    this.#active = 0;
    this.#list.scrollTop = 0;
    void this.#load(0);
  }

  /** Whoever asks for a page that is on its way waits for it. */
  #load(page: number): Promise<void> {
    const underWay = this.#loading.get(page);
    if (underWay) return underWay;
    const load = this.#fetch(page, this.#generation).finally(() => {
      if (this.#loading.get(page) === load) this.#loading.delete(page);
    });
    this.#loading.set(page, load);
    return load;
  }

  async #fetch(page: number, generation: number): Promise<void> {
    try {
      const shape = await this.#options.load(this.#search.value, this.#isByRate ? 'rate' : 'name', page * PAGE, PAGE);
      if (generation !== this.#generation) return;
      this.#pages.set(page, shape.services);
      this.#matching = shape.matching;
      this.#total = shape.total;
      this.#render();
    } catch {
      // The stream of events says that the agent is gone; the next refresh asks again.
    }
  }

  #isInSight(page: number): boolean {
    const [from, to] = this.#sight();
    return page >= Math.floor(from / PAGE) && page <= Math.floor(to / PAGE);
  }

  #sight(): readonly [from: number, to: number] {
    const from = Math.max(0, Math.floor(this.#list.scrollTop / ROW) - SPARE);
    return [
      from,
      Math.min(Math.max(0, this.#matching - 1), from + Math.ceil(this.#list.clientHeight / ROW) + 2 * SPARE),
    ];
  }

  #row(index: number): ServiceRow | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  #indexOf(name: string): number | undefined {
    for (const [page, rows] of this.#pages) {
      const at = rows.findIndex((row) => row.name === name);
      if (at >= 0) return page * PAGE + at;
    }
    return undefined;
  }

  #render(): void {
    this.#count.textContent =
      this.#matching === this.#total
        ? `${this.#total.toLocaleString()} services`
        : `${this.#matching.toLocaleString()} of ${this.#total.toLocaleString()}`;
    this.#rows.style.height = `${this.#matching * ROW}px`;
    if (this.#matching === 0) {
      this.#rows.replaceChildren(
        el('p', { class: 'empty' }, this.#total === 0 ? 'No services yet.' : 'Nothing found.'),
      );
      return;
    }
    const [from, to] = this.#sight();
    const elements: HTMLElement[] = [];
    for (let i = from; i <= to; i++) {
      const row = this.#row(i);
      if (row) elements.push(this.#rowElement(row, i));
      else void this.#load(Math.floor(i / PAGE));
    }
    this.#rows.replaceChildren(...elements);
    this.#list.setAttribute('aria-activedescendant', `service-${this.#active}`);
  }

  #rowElement(row: ServiceRow, index: number): HTMLElement {
    const [namespace, name] = nameParts(row.name);
    const rate = this.#rates.get(row.name) ?? 0;
    const state = row.verdict === 'balance' ? (row.leftOut > 0 ? 'partly' : 'good') : row.verdict;
    const element = el(
      'div',
      {
        class: `row${row.name === this.#chosen ? ' chosen' : ''}${index === this.#active ? ' active' : ''}`,
        id: `service-${index}`,
        role: 'option',
        'aria-selected': String(row.name === this.#chosen),
        onclick: () => void this.#take(index),
      },
      el('span', { class: `lamp ${state}`, title: STATES[state]! }),
      el(
        'span',
        { class: 'row-name' },
        el('b', {}, name),
        el('small', {}, `${namespace} · ${row.addresses[0] ?? 'no address'}`),
      ),
      el(
        'span',
        { class: 'row-numbers' },
        el('b', { class: rate > 0 ? 'rate live' : 'rate' }, rate > 0 ? rateText(rate) : '·'),
        el(
          'small',
          {},
          row.leftOut > 0 ? `${row.used} of ${row.used + row.leftOut}` : `${row.used}`,
          row.used === 1 ? ' pod' : ' pods',
        ),
      ),
    );
    element.style.transform = `translateY(${index * ROW}px)`;
    return element;
  }

  async #take(index: number): Promise<void> {
    if (!this.#row(index)) await this.#load(Math.floor(index / PAGE));
    const row = this.#row(index);
    if (!row) return;
    this.#active = index;
    this.#options.onChoose(row.name);
  }

  #keyInSearch(event: KeyboardEvent): void {
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      this.#list.focus();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      void this.#take(this.#active);
    } else if (event.key === 'Escape' && this.#search.value !== '') {
      this.#search.value = '';
      this.#restart();
    }
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.#list.clientHeight / ROW) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -this.#matching,
      End: this.#matching,
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      if (event.key === 'ArrowUp' && this.#active === 0) {
        this.focusSearch();
        return;
      }
      this.#active = Math.max(0, Math.min(this.#matching - 1, this.#active + move));
      this.#keepInSight();
      this.#render();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      void this.#take(this.#active);
    }
  }

  #keepInSight(): void {
    const top = this.#active * ROW;
    const { scrollTop, clientHeight } = this.#list;
    if (top < scrollTop) this.#list.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.#list.scrollTop = top + ROW - clientHeight;
  }
}

const STATES: Readonly<Record<string, string>> = {
  good: 'all endpoints are used',
  partly: 'some endpoints are left out',
  reject: 'no endpoints: clients are refused',
  drop: 'no endpoints on this node: packets are dropped',
};
