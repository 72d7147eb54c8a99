// One service: its picture, a trace through it, its rules, its last changes.
import type { ChangeShape, PortShape, RatesShape, ServiceShape } from '../src/observe/console/shapes.ts';
import type { TraceReport } from '../src/observe/trace/report.ts';
import { changeItem } from './changes.ts';
import { el } from './dom.ts';
import { nameParts, rateText } from './format.ts';
import { PictureView } from './picture.ts';
import { TracePanel } from './trace-panel.ts';

export interface ServiceViewOptions {
  readonly trace: (from: string, to: string) => Promise<TraceReport>;
  readonly hasCounters: boolean;
}

export class ServiceView {
  readonly element = el('div', { class: 'service' });
  readonly #options: ServiceViewOptions;
  readonly #head = el('div', { class: 'service-head' });
  readonly #tabs = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Ports' });
  readonly #stage = el('div', { class: 'stage' });
  readonly #rules = el('section', { class: 'panel rules', 'aria-label': 'Rules' });
  readonly #changes = el('section', { class: 'panel', 'aria-label': 'Last changes' });
  readonly #rate = el('span', { class: 'big-rate' });
  readonly #trace: TracePanel;
  #service: ServiceShape | undefined;
  #portId = '';
  #picture: PictureView | undefined;
  #rates: RatesShape | undefined;
  #width = 0;
  #isPartShown = false;
  #lastChanges: readonly ChangeShape[] = [];

  constructor(options: ServiceViewOptions) {
    this.#options = options;
    this.#trace = new TracePanel({ ask: options.trace, port: () => this.#port, picture: () => this.#picture });
    this.element.append(
      this.#head,
      this.#stage,
      el(
        'div',
        { class: 'columns' },
        el('div', { class: 'column' }, this.#trace.element, this.#changes),
        el('div', { class: 'column' }, this.#rules),
      ),
    );
    new ResizeObserver(() => {
      if (Math.abs(this.#stage.clientWidth - this.#width) > 8) this.#draw();
    }).observe(this.#stage);
  }

  /** The same service again, after a change, keeps port and trace. */
  show(service: ServiceShape, changes: readonly ChangeShape[]): void {
    this.#lastChanges = changes;
    const isSame = service.name === this.#service?.name;
    this.#service = service;
    if (!this.#port) this.#portId = service.ports[0]?.id ?? '';
    const [namespace, name] = nameParts(service.name);
    this.#tabs.replaceChildren(...(service.ports.length > 1 ? service.ports.map((port) => this.#tab(port)) : []));
    this.#head.replaceChildren(
      el('div', {}, el('p', { class: 'namespace' }, namespace), el('h2', {}, name)),
      el('div', { class: 'facts' }, ...this.#facts()),
      this.#rate,
      this.#tabs,
    );
    if (!isSame) {
      this.#trace.offer(service.ports);
      this.#rates = undefined;
    }
    if (!isSame || !this.#isPartShown) this.#showAllRules();
    this.#draw();
    const own = changes.filter(({ services }) => services.includes(service.name)).slice(0, 6);
    this.#changes.replaceChildren(
      el('h3', {}, 'Last changes'),
      own.length === 0
        ? el('p', { class: 'quiet' }, 'None since the agent began.')
        : el('ol', { class: 'changes' }, ...own.map((change) => changeItem(change, false))),
    );
  }

  showRates(rates: RatesShape): void {
    this.#rates = rates;
    const rate = rates.services.find(([name]) => name === this.#service?.name)?.[1] ?? 0;
    this.#rate.replaceChildren(el('b', {}, rateText(rate)), el('small', {}, 'new connections'));
    this.#picture?.show(rates.edges);
  }

  focusTrace(): void {
    this.#trace.focus();
  }

  close(): void {
    this.#picture?.close();
  }

  get #port(): PortShape | undefined {
    return this.#service?.ports.find(({ id }) => id === this.#portId);
  }

  #tab(port: PortShape): HTMLElement {
    const [, name] = nameParts(port.displayName);
    return el(
      'button',
      {
        type: 'button',
        role: 'tab',
        'aria-selected': String(port.id === this.#portId),
        onclick: () => {
          this.#portId = port.id;
          this.#isPartShown = false;
          if (this.#service) this.show(this.#service, this.#lastChanges);
        },
      },
      `${name} ${port.protocol} ${port.family}`,
    );
  }

  #facts(): readonly HTMLElement[] {
    const port = this.#port;
    if (!port) return [];
    const facts = [
      port.external.over === 'local' && 'external policy Local',
      port.internal.over === 'local' && 'internal policy Local',
      port.affinityTimeoutSeconds > 0 && `sticky for ${port.affinityTimeoutSeconds} s`,
      port.sourceRanges.length > 0 && `only from ${port.sourceRanges.join(', ')}`,
    ];
    return facts.flatMap((fact) => (fact ? [el('span', { class: 'fact' }, fact)] : []));
  }

  #draw(): void {
    const port = this.#port;
    if (!port) return;
    this.#picture?.close();
    this.#width = this.#stage.clientWidth;
    this.#picture = new PictureView(port, {
      width: Math.max(700, this.#width - 50),
      onRules: (title, rules) => this.#showRules(title, rules, true),
    });
    this.#stage.replaceChildren(this.#picture.element);
    if (!this.#options.hasCounters)
      this.#stage.append(
        el(
          'p',
          { class: 'quiet' },
          'Rules do not count here; start the agent with --service-metrics to see packets move.',
        ),
      );
    if (this.#rates) this.#picture.show(this.#rates.edges);
    this.#trace.repaint();
  }

  #showAllRules(): void {
    const port = this.#port;
    if (port) this.#showRules(`All rules of ${port.displayName}`, port.rules, false);
  }

  #showRules(title: string, rules: readonly string[], isPart: boolean): void {
    this.#isPartShown = isPart;
    this.#rules.replaceChildren(
      el(
        'h3',
        {},
        title,
        isPart && el('button', { type: 'button', class: 'link', onclick: () => this.#showAllRules() }, 'all rules'),
      ),
      rules.length === 0
        ? el('p', { class: 'quiet' }, 'There is no rule of its own.')
        : el(
            'pre',
            { tabindex: 0 },
            ...rules.slice(0, MAX_RULES).map(ruleLine),
            rules.length > MAX_RULES && `… and ${rules.length - MAX_RULES} more`,
          ),
    );
  }
}

const MAX_RULES = 300;

/** Chains and targets stand out, comments stand back. */
function ruleLine(rule: string): HTMLElement {
  const parts = rule.split(
    /( -m comment --comment (?:"[^"]*"|\S+)|(?<=^-A )\S+|(?<= -j )\S+|(?<=--probability )\S+|(?<=--to-destination )\S+)/,
  );
  return el(
    'div',
    { class: 'rule' },
    ...parts.map((part, i) =>
      i % 2 === 0 ? part : el('span', { class: part.startsWith(' -m comment') ? 'comment' : 'word' }, part),
    ),
  );
}
