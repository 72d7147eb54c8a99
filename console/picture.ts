// The picture of one service port: what tutorials draw by hand, drawn from the rules, moved by the kernel's counters.
import type { EdgeRate, PictureEdge, PictureNode, PortShape } from '../src/observe/console/shapes.ts';
import { el, svg } from './dom.ts';
import { type DotEdge, Dots } from './dots.ts';
import { FRONTEND_TEXT, rateText, targetText } from './format.ts';
import { type Layout, layoutOf, leftOutId, type Placed } from './layout.ts';

export interface PictureOptions {
  readonly width: number;
  /** An edge or an endpoint was chosen: show its rules. */
  readonly onRules: (title: string, rules: readonly string[]) => void;
}

interface DrawnEdge extends DotEdge {
  readonly edge: PictureEdge;
  readonly group: SVGGElement;
  readonly label: SVGTextElement;
}

export class PictureView {
  readonly element: HTMLElement;
  readonly #port: PortShape;
  readonly #layout: Layout;
  readonly #edges: readonly DrawnEdge[];
  readonly #nodes = new Map<string, SVGGElement>();
  readonly #badges = svg('g', { class: 'badges' });
  readonly #dots: Dots;
  readonly #scale = el('p', { class: 'scale' });

  constructor(port: PortShape, options: PictureOptions) {
    this.#port = port;
    this.#layout = layoutOf(port.picture, port.leftOut, options.width);
    const { width, height, hidden } = this.#layout;
    this.#edges = port.picture.edges.flatMap((edge) => this.#edge(edge, options));
    const dotLayer = svg('g', { class: 'dots', 'aria-hidden': true });
    const drawing = svg(
      'svg',
      {
        class: 'picture',
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: 'group',
        'aria-label': `The way of packets to ${port.displayName}`,
      },
      svg('g', { class: 'edges' }, ...this.#edges.map(({ group }) => group)),
      dotLayer,
      svg(
        'g',
        { class: 'nodes' },
        ...port.picture.nodes.flatMap((node) => this.#node(node, options) ?? []),
        ...this.#leftOut(),
      ),
      svg('g', { class: 'labels', 'aria-hidden': true }, ...this.#edges.map(({ label }) => label)),
      this.#badges,
    );
    const frontends = new Set(port.picture.nodes.flatMap(({ kind, id }) => (kind === 'frontend' ? [id] : [])));
    this.#dots = new Dots(dotLayer, this.#edges, frontends);
    this.#dots.start();
    this.element = el(
      'figure',
      { class: 'picture-frame' },
      el('div', { class: 'picture-scroll' }, drawing),
      hidden > 0 && el('p', { class: 'more' }, `and ${hidden} more endpoints, listed below`),
      this.#scale,
    );
  }

  close(): void {
    this.#dots.stop();
  }

  /** What the kernel counted since the last time. An edge whose rule the kernel does not have is shown as missing. */
  show(rates: Readonly<Record<string, EdgeRate>>): void {
    for (const drawn of this.#edges) {
      const { edge, group, label } = drawn;
      if (edge.counter === undefined) continue;
      const counted = rates[edge.counter];
      drawn.rate = counted?.rate ?? 0;
      group.classList.toggle('missing', counted === undefined);
      group.classList.toggle('busy', drawn.rate > 0);
      drawn.path.style.strokeWidth = `${1.4 + Math.min(5, Math.log2(1 + drawn.rate))}px`;
      label.replaceChildren(...labelSpans(edge, counted));
    }
    const { scale } = this.#dots;
    this.#scale.textContent =
      scale === 1
        ? 'Each dot is one new connection, as the kernel counted it.'
        : `Each dot stands for ${scale} new connections, as the kernel counted them.`;
  }

  /** Paints a trace: the edges of all ways, and the numbered steps of one. */
  trace(all: ReadonlySet<string>, steps: readonly string[], ends: ReadonlySet<string>): void {
    const isOn = all.size > 0;
    for (const { edge, group } of this.#edges) {
      group.classList.toggle('traced', all.has(edge.id));
      group.classList.toggle('step', steps.includes(edge.id));
      group.classList.toggle('dimmed', isOn && !all.has(edge.id));
    }
    for (const [id, node] of this.#nodes) node.classList.toggle('reached', ends.has(id));
    this.#badges.replaceChildren(...steps.flatMap((id, i) => this.#badge(id, i + 1)));
  }

  #badge(id: string, number: number): SVGElement[] {
    const drawn = this.#edges.find(({ edge }) => edge.id === id);
    if (!drawn) return [];
    const { x, y } = drawn.path.getPointAtLength(drawn.path.getTotalLength() * 0.28);
    return [
      svg(
        'g',
        { class: 'badge', transform: `translate(${x} ${y})` },
        svg('circle', { r: 10 }),
        svg('text', { y: 4 }, String(number)),
      ),
    ];
  }

  #edge(edge: PictureEdge, { onRules }: PictureOptions): DrawnEdge[] {
    const from = this.#layout.nodes.get(edge.from);
    const to = this.#layout.nodes.get(edge.to);
    if (!from || !to) return [];
    const path = svg('path', { class: 'line', d: curve(from, to), fill: 'none' });
    const show = (): void => onRules(edgeTitle(edge, this.#port), edge.rules);
    const group = svg(
      'g',
      {
        class: `edge${edge.condition ? ' conditional' : ''}`,
        tabindex: 0,
        role: 'button',
        'aria-label': edgeTitle(edge, this.#port),
        onclick: show,
        onkeydown: (event: KeyboardEvent) => isPress(event) && show(),
      },
      svg('path', { class: 'hit', d: curve(from, to), fill: 'none' }),
      path,
      svg('title', {}, edge.rules.join('\n')),
    );
    // Where edges part, at their ends; where they meet, at their beginnings; so that no two labels share a place.
    const { edges } = this.#port.picture;
    const isParting = ({ from: start }: PictureEdge): boolean =>
      edges.filter((other) => other.from === start).length > 1;
    const parts = isParting(edge);
    const place = parts ? edges.filter((other) => other.to === edge.to && isParting(other)).indexOf(edge) : 0;
    const label = svg('text', {
      class: 'label',
      x: parts ? to.x - 10 : from.x + from.width + 10,
      y: (parts ? to : from).y + from.height / 2 - 9 + place * 26,
      'text-anchor': parts ? 'end' : 'start',
    });
    label.append(...labelSpans(edge, undefined));
    return [{ from: edge.from, to: edge.to, path, rate: 0, edge, group, label }];
  }

  #node(node: PictureNode, { onRules }: PictureOptions): SVGGElement | undefined {
    const place = this.#layout.nodes.get(node.id);
    if (!place) return undefined;
    const rules = this.#port.picture.edges
      .filter(({ to, from }) => (node.kind === 'endpoint' ? to : from) === node.id)
      .flatMap((edge) => edge.rules);
    const own =
      node.kind === 'endpoint' && node.chain
        ? this.#port.rules.filter((rule) => rule.startsWith(`-A ${node.chain} `))
        : [];
    const [title, subtitle] = nodeTexts(node);
    const show = (): void => onRules(title, [...rules, ...own]);
    const group = svg(
      'g',
      {
        class: `box ${node.kind}${node.kind === 'frontend' ? ` ${node.frontend}` : ''}${node.kind === 'endpoint' && node.isTerminating ? ' terminating' : ''}`,
        transform: `translate(${place.x} ${place.y})`,
        tabindex: 0,
        role: 'button',
        'aria-label': `${title}, ${subtitle}`,
        onclick: show,
        onkeydown: (event: KeyboardEvent) => isPress(event) && show(),
      },
      svg('title', {}, `${title}\n${subtitle}`),
      ...boxParts(node.kind, place, title, subtitle, node.kind === 'endpoint' ? nodeChip(node) : undefined),
    );
    this.#nodes.set(node.id, group);
    return group;
  }

  #leftOut(): SVGGElement[] {
    return this.#port.leftOut.flatMap((left) => {
      const place = this.#layout.nodes.get(leftOutId(left.address));
      if (!place) return [];
      const title = left.target ? targetText(left.target) : left.address;
      return [
        svg(
          'g',
          { class: 'box left-out', transform: `translate(${place.x} ${place.y})` },
          ...boxParts('end', place, title, left.text, left.node),
          svg('title', {}, `${left.address} is not used: ${left.text}`),
        ),
      ];
    });
  }
}

function isPress(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' && event.key !== ' ') return false;
  event.preventDefault();
  return true;
}

function curve(from: Placed, to: Placed): string {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const bend = Math.max(40, (x2 - x1) * 0.45);
  return `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function labelSpans(edge: PictureEdge, counted: EdgeRate | undefined): SVGTSpanElement[] {
  const share = edge.share ?? edge.condition;
  return [
    ...(share ? [svg('tspan', { class: edge.share ? 'share' : 'condition' }, share)] : []),
    ...(counted && counted.rate > 0
      ? [svg('tspan', { class: 'rate', dx: share ? 7 : 0 }, rateText(counted.rate))]
      : []),
  ];
}

function edgeTitle(edge: PictureEdge, { picture }: PortShape): string {
  const name = (id: string): string => {
    const node = picture.nodes.find((one) => one.id === id);
    return node ? nodeTexts(node)[0] : id;
  };
  return `${name(edge.from)} → ${name(edge.to)}${edge.share ? `, ${edge.share}` : ''}${edge.condition ? `, ${edge.condition}` : ''}`;
}

function nodeTexts(node: PictureNode): readonly [title: string, subtitle: string] {
  switch (node.kind) {
    case 'frontend':
      return [node.address, FRONTEND_TEXT[node.frontend]!];
    case 'chain':
      return [node.name, node.role];
    case 'endpoint':
      return [
        node.target ? targetText(node.target) : node.address,
        `${node.target ? node.address : 'endpoint'}${node.isTerminating ? ' · terminating' : ''}`,
      ];
    case 'end':
      return node.verdict === 'reject' ? ['refused', 'no endpoints'] : ['dropped', 'no answer'];
  }
}

function nodeChip(node: PictureNode & { kind: 'endpoint' }): string | undefined {
  return node.isLocal ? 'this node' : node.node;
}

function boxParts(
  kind: PictureNode['kind'],
  { width, height }: Placed,
  title: string,
  subtitle: string,
  chip: string | undefined,
): SVGElement[] {
  const chipWidth = chip ? chip.length * 6.4 + 14 : 0;
  return [
    svg('rect', { class: 'card', width, height, rx: 9 }),
    svg('rect', { class: 'edge-mark', width: 4, height: height - 18, x: 8, y: 9, rx: 2 }),
    svg(
      'text',
      { class: 'title', x: 20, y: 25 },
      fitted(title, width - 28, kind === 'endpoint' ? 7.6 : 8.2 - (kind === 'chain' ? 1.2 : 0)),
    ),
    svg(
      'text',
      { class: 'subtitle', x: 20, y: 43 },
      fitted(subtitle, width - 30 - chipWidth, kind === 'endpoint' ? 6.7 : 5.7),
    ),
    ...(chip
      ? [
          svg('rect', {
            class: 'chip',
            x: width - chipWidth - 8,
            y: height - 25,
            width: chipWidth,
            height: 17,
            rx: 8.5,
          }),
          svg('text', { class: 'chip-text', x: width - chipWidth / 2 - 8, y: height - 13 }, chip),
        ]
      : []),
  ];
}

/** As much as fits, where a letter takes so much room. */
function fitted(text: string, width: number, letter: number): string {
  const room = Math.floor(width / letter);
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}
