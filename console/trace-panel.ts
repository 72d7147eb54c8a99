// The trace form and its answer: one sentence, every way with its share, and the hops of one of them with the kernel's own words.
import type { PictureEdge, PortShape } from '../src/observe/console/shapes.ts';
import type { HopReport, OutcomeReport, TraceReport } from '../src/observe/trace/report.ts';
import { el } from './dom.ts';
import type { PictureView } from './picture.ts';

export interface TracePanelOptions {
  readonly ask: (from: string, to: string) => Promise<TraceReport>;
  readonly port: () => PortShape | undefined;
  readonly picture: () => PictureView | undefined;
}

export class TracePanel {
  readonly element: HTMLElement;
  readonly #options: TracePanelOptions;
  readonly #from = el('input', {
    type: 'text',
    list: 'clients',
    value: 'pod',
    'aria-label': 'From',
    spellcheck: 'false',
  });
  readonly #to = el('input', { type: 'text', list: 'destinations', 'aria-label': 'To', spellcheck: 'false' });
  readonly #clients = el('datalist', { id: 'clients' });
  readonly #destinations = el('datalist', { id: 'destinations' });
  readonly #answer = el('div', { class: 'trace-answer', 'aria-live': 'polite' });
  #report: TraceReport | undefined;
  #chosen = 0;

  constructor(options: TracePanelOptions) {
    this.#options = options;
    const form = el(
      'form',
      { class: 'trace-form', onsubmit: (event: Event) => this.#submit(event) },
      el('label', {}, el('span', {}, 'from'), this.#from),
      el('span', { class: 'arrow', 'aria-hidden': true }, '→'),
      el('label', {}, el('span', {}, 'to'), this.#to),
      el('button', { type: 'submit', class: 'primary' }, 'Trace'),
      this.#clients,
      this.#destinations,
    );
    this.element = el(
      'section',
      { class: 'panel trace', 'aria-label': 'Trace' },
      el(
        'h3',
        {},
        'What becomes of a packet?',
        el('small', {}, 'walked through the rules the kernel holds now; none is sent'),
      ),
      form,
      this.#answer,
    );
  }

  focus(): void {
    this.#to.focus();
    this.#to.select();
  }

  /** A service is shown: its addresses are at hand. */
  offer(ports: readonly PortShape[]): void {
    const nodes = ports.flatMap(({ picture }) => picture.nodes);
    const addresses = ports.flatMap(({ picture, protocol }) =>
      picture.nodes.flatMap((node) =>
        node.kind === 'frontend' ? [`${node.address}${protocol === 'TCP' ? '' : `/${protocol.toLowerCase()}`}`] : [],
      ),
    );
    this.#destinations.replaceChildren(...addresses.map((value) => el('option', { value })));
    const pods = nodes.flatMap((node) =>
      node.kind === 'endpoint' && node.target ? [node.target.replace(/^Pod /, 'pod/')] : [],
    );
    this.#clients.replaceChildren(
      ...['pod', 'node', 'outside', ...new Set(pods)].map((value) => el('option', { value })),
    );
    this.#to.value = addresses[0] ?? '';
    this.clear();
  }

  clear(): void {
    this.#report = undefined;
    this.#answer.replaceChildren();
    this.#options.picture()?.trace(new Set(), [], new Set());
  }

  /** The picture was drawn anew. */
  repaint(): void {
    if (this.#report) this.#paint(this.#report);
  }

  async #submit(event: Event): Promise<void> {
    event.preventDefault();
    try {
      const report = await this.#options.ask(this.#from.value.trim(), this.#to.value.trim());
      this.#report = report;
      this.#chosen = 0;
      this.#show(report);
    } catch (error) {
      this.clear();
      this.#answer.replaceChildren(el('p', { class: 'bad' }, (error as Error).message));
    }
  }

  #show(report: TraceReport): void {
    const shown = report.outcomes.slice(0, MAX_OUTCOMES);
    this.#answer.replaceChildren(
      el('p', { class: 'sentence' }, report.sentence),
      el(
        'div',
        { class: 'outcomes', role: 'tablist', 'aria-label': 'Ways' },
        ...shown.map((outcome, i) => this.#outcomeTab(outcome, i, report)),
        report.outcomes.length > shown.length &&
          el('span', { class: 'more' }, `and ${report.outcomes.length - shown.length} more`),
      ),
      hopList(shown[this.#chosen]?.hops ?? [], this.#stepNumbers(shown[this.#chosen])),
    );
    this.#paint(report);
  }

  #outcomeTab(outcome: OutcomeReport, index: number, report: TraceReport): HTMLElement {
    return el(
      'button',
      {
        type: 'button',
        role: 'tab',
        class: `outcome ${outcome.end}`,
        'aria-selected': String(index === this.#chosen),
        onclick: () => {
          this.#chosen = index;
          this.#show(report);
        },
      },
      el('b', {}, outcome.share),
      el(
        'span',
        {},
        ENDS[outcome.end]!,
        outcome.end === 'delivered' || outcome.end === 'forwarded' ? ` ${outcome.destination}` : '',
      ),
      outcome.conditions.length > 0 &&
        el('small', {}, outcome.conditions.map(({ holds, text }) => `${holds ? 'if' : 'unless'} ${text}`).join(', ')),
    );
  }

  #paint(report: TraceReport): void {
    const all = new Set(report.outcomes.flatMap((outcome) => this.#edgesOf(outcome, report).map(({ id }) => id)));
    const chosen = report.outcomes[this.#chosen];
    const steps = chosen ? this.#edgesOf(chosen, report).map(({ id }) => id) : [];
    const ends = new Set(
      report.outcomes.filter(({ isTranslated }) => isTranslated).map(({ destination }) => destination),
    );
    this.#options.picture()?.trace(all, steps, ends);
  }

  /** The edges of the picture that a way takes, in its order. */
  #edgesOf(outcome: OutcomeReport, report: TraceReport): readonly PictureEdge[] {
    const edges = this.#options.port()?.picture.edges ?? [];
    const chains = new Set(outcome.hops.map(({ chain }) => chain));
    const end =
      outcome.end === 'rejected'
        ? 'reject'
        : outcome.end === 'dropped'
          ? 'drop'
          : outcome.isTranslated && outcome.destination;
    return end ? wayTo(end, frontendId(report), edges, (id) => chains.has(this.#chainName(id))) : [];
  }

  #chainName(id: string): string {
    const node = this.#options.port()?.picture.nodes.find((one) => one.id === id);
    return node?.kind === 'chain' ? node.name : '';
  }

  #edgeOf(hop: HopReport, way: readonly PictureEdge[]): PictureEdge | undefined {
    const [first, ...rest] = way;
    const inner = rest.find(({ from }) => this.#chainName(from) === hop.chain);
    if (inner) return isLeading(hop, inner) ? inner : undefined;
    return first && ENTRIES.has(hop.chain) && isLeading(hop, first) ? first : undefined;
  }

  /** Which hops stand on the picture, by their number there. */
  #stepNumbers(outcome: OutcomeReport | undefined): ReadonlyMap<HopReport, number> {
    const way = outcome && this.#report ? this.#edgesOf(outcome, this.#report) : [];
    const numbers = new Map<HopReport, number>();
    for (const hop of outcome?.hops ?? []) {
      const edge = this.#edgeOf(hop, way);
      if (edge) numbers.set(hop, way.indexOf(edge) + 1);
    }
    return numbers;
  }
}

/** Where packets leave the chains that all services share. */
const ENTRIES: ReadonlySet<string> = new Set([
  'KUBE-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-PROXY-FIREWALL',
  'services',
  'nodeports',
]);

/** Not the rules beside it that only mark. */
function isLeading(hop: HopReport, { to, counter }: PictureEdge): boolean {
  const target = /^(?:jump|goto) (.+)$/.exec(hop.did)?.[1];
  if (target === undefined)
    return hop.did.startsWith('translate') || hop.did === 'drop' || hop.did.startsWith('reject');
  return target === to || (counter?.endsWith(`>${target}`) ?? false) || /^(pick|stick)/.test(target);
}

/** Depth first; chains that the packet did not meet are not passed. */
function wayTo(
  end: string,
  from: string,
  edges: readonly PictureEdge[],
  isMet: (chain: string) => boolean,
): readonly PictureEdge[] {
  for (const edge of edges.filter((one) => one.from === from)) {
    if (edge.to === end) return [edge];
    if (!isMet(edge.to)) continue;
    const rest = wayTo(end, edge.to, edges, isMet);
    if (rest.length > 0) return [edge, ...rest];
  }
  return [];
}

const MAX_OUTCOMES = 24;

const ENDS: Readonly<Record<OutcomeReport['end'], string>> = {
  delivered: 'this node’s own',
  forwarded: '→',
  dropped: 'dropped',
  rejected: 'refused',
  unjudged: 'cannot be told',
};

/** As pictures name it. */
function frontendId({ packet }: TraceReport): string {
  const colon = packet.destination.lastIndexOf(':');
  const ip = packet.destination.slice(0, colon).replace(/^\[|\]$/g, '');
  return `${packet.frontend === 'node-port' ? 'node' : ip} ${packet.protocol} ${packet.destination.slice(colon + 1)}`;
}

function hopList(hops: readonly HopReport[], numbers: ReadonlyMap<HopReport, number>): HTMLElement {
  return el('ol', { class: 'hops' }, ...hops.map((hop) => hopItem(hop, numbers.get(hop))));
}

function hopItem(hop: HopReport, number: number | undefined): HTMLElement {
  return el(
    'li',
    { class: hop.isForeign ? 'hop foreign' : 'hop' },
    el('span', { class: number === undefined ? 'mark' : 'mark numbered' }, number === undefined ? '' : String(number)),
    el(
      'div',
      {},
      el(
        'p',
        { class: 'hop-head' },
        el('b', {}, hop.chain),
        el('span', { class: 'hook' }, `${hop.hook} · ${hop.table}`),
        hop.chance !== undefined && el('span', { class: 'chance' }, hop.chance),
        el('span', { class: 'did' }, hop.did),
      ),
      hop.rule !== undefined && el('code', {}, hop.rule),
      ...hop.origins.map(({ meaning, object, fields }) =>
        el('p', { class: 'origin' }, meaning, el('small', {}, ` ${object} ${fields.join(', ')}`)),
      ),
      hop.isForeign && el('p', { class: 'origin warn' }, 'not a rule of the proxy'),
    ),
  );
}
