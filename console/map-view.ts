// The map: nodes, the endpoints on them, and where this node's connections go.
import type { MapEndpoint, MapShape, RatesShape } from '../src/observe/console/shapes.ts';
import { el, svg } from './dom.ts';
import { type DotEdge, Dots } from './dots.ts';
import { rateText, targetText } from './format.ts';

const WIDTH = 1100;
const BOX = 290;
const HUB = 62;
const ROW = 26;
const HEAD = 62;

interface Lane extends DotEdge {
  readonly counters: readonly string[];
  readonly label: SVGTextElement;
}

export class MapView {
  readonly element: HTMLElement;
  readonly #lanes: readonly Lane[];
  readonly #rows = new Map<MapEndpoint, SVGTextElement>();
  readonly #dots: Dots;

  constructor(map: MapShape, onNode: ((name: string) => void) | undefined) {
    const places = placesOf(map);
    const height = Math.max(420, ...places.map(({ y, height: tall }) => y + tall + 30));
    const hub = { x: WIDTH / 2, y: height / 2 };
    this.#lanes = places.map((place) => {
      const path = svg('path', { class: 'lane', d: lanePath(hub, place), fill: 'none' });
      const label = svg('text', {
        class: 'label rate',
        x: place.isLeft ? place.x + BOX + 14 : place.x - 14,
        y: place.y + HEAD / 2 - 10,
        'text-anchor': place.isLeft ? 'start' : 'end',
      });
      return {
        from: 'hub',
        to: place.node.name,
        path,
        rate: 0,
        label,
        counters: place.node.endpoints.flatMap(({ counters }) => counters),
      };
    });
    const dots = svg('g', { class: 'dots' });
    const drawing = svg(
      'svg',
      {
        class: 'picture map',
        viewBox: `0 0 ${WIDTH} ${height}`,
        role: 'group',
        'aria-label': `Where connections of ${map.node} go`,
      },
      ...rhumbs(hub, WIDTH, height),
      ...this.#lanes.map(({ path }) => path),
      dots,
      svg(
        'g',
        { class: 'hub', transform: `translate(${hub.x} ${hub.y})` },
        svg('circle', { r: HUB }),
        svg('circle', { class: 'inner', r: HUB - 7 }),
        svg('text', { class: 'title', y: -2 }, map.node),
        svg('text', { class: 'subtitle', y: 18 }, 'this node’s rules'),
      ),
      ...places.map((place) => this.#box(place, map.node, onNode)),
      ...this.#lanes.map(({ label }) => label),
    );
    this.#dots = new Dots(dots, this.#lanes, new Set(['hub']));
    this.#dots.start();
    this.element = el(
      'section',
      { class: 'page wide' },
      el('h2', {}, 'Map'),
      el(
        'p',
        { class: 'lead' },
        `Where the rules of ${map.node} send new connections. Every node has such a map of its own.`,
      ),
      el('div', { class: 'picture-frame' }, el('div', { class: 'picture-scroll' }, drawing)),
    );
  }

  show({ edges }: RatesShape): void {
    const rateOf = (counters: readonly string[]): number =>
      counters.reduce((sum, counter) => sum + (edges[counter]?.rate ?? 0), 0);
    for (const lane of this.#lanes) {
      lane.rate = rateOf(lane.counters);
      lane.path.style.strokeWidth = `${1.5 + Math.min(6, Math.log2(1 + lane.rate))}px`;
      lane.path.classList.toggle('busy', lane.rate > 0);
      lane.label.textContent = lane.rate > 0 ? rateText(lane.rate) : '';
    }
    for (const [endpoint, text] of this.#rows) {
      const rate = rateOf(endpoint.counters);
      text.textContent = rate > 0 ? rateText(rate) : '';
    }
  }

  close(): void {
    this.#dots.stop();
  }

  #box({ x, y, height, node }: Place, own: string, onNode: ((name: string) => void) | undefined): SVGElement {
    const isLink = onNode !== undefined && node.name !== own && node.zone !== undefined;
    const open = (): void => onNode?.(node.name);
    return svg(
      'g',
      { class: `place${node.name === own ? ' own' : ''}`, transform: `translate(${x} ${y})` },
      svg('rect', { class: 'card', width: BOX, height, rx: 12 }),
      svg(
        'text',
        {
          class: 'title',
          x: 18,
          y: 28,
          ...(isLink && {
            tabindex: 0,
            role: 'link',
            onclick: open,
            onkeydown: (event: KeyboardEvent) => event.key === 'Enter' && open(),
          }),
        },
        node.name,
      ),
      svg(
        'text',
        { class: 'subtitle', x: 18, y: 46 },
        [node.name === own ? 'this node' : '', node.zone ? `zone ${node.zone}` : ''].filter(Boolean).join(' · '),
      ),
      ...node.endpoints.flatMap((endpoint, i) => this.#row(endpoint, HEAD + i * ROW)),
      ...(node.more > 0
        ? [
            svg(
              'text',
              { class: 'subtitle', x: 18, y: HEAD + node.endpoints.length * ROW + 14 },
              `and ${node.more} more`,
            ),
          ]
        : []),
    );
  }

  #row(endpoint: MapEndpoint, y: number): SVGElement[] {
    const rate = svg('text', { class: 'row-rate', x: BOX - 16, y: y + 13, 'text-anchor': 'end' });
    this.#rows.set(endpoint, rate);
    const text = targetText(endpoint.target);
    return [
      svg('circle', { class: 'pod', cx: 24, cy: y + 9, r: 4 }),
      svg(
        'text',
        { class: 'pod-name', x: 36, y: y + 13 },
        text.length > 26 ? `${text.slice(0, 25)}…` : text,
        svg('title', {}, `${endpoint.ip}: ${endpoint.services.join(', ')}`),
      ),
      rate,
    ];
  }
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly height: number;
  readonly isLeft: boolean;
  readonly node: MapShape['nodes'][number];
}

/** A column on each side of the rose, filled where there is more room. */
function placesOf({ nodes, node: own }: MapShape): readonly Place[] {
  const heights = [20, 20];
  const sorted = nodes.toSorted(
    (a, b) => Number(b.name === own) - Number(a.name === own) || (a.name < b.name ? -1 : 1),
  );
  return sorted.map((node) => {
    const height = HEAD + node.endpoints.length * ROW + (node.more > 0 ? 26 : 14);
    const column = heights[0]! <= heights[1]! ? 0 : 1;
    const y = heights[column]!;
    heights[column] = y + height + 26;
    return { x: column === 0 ? 10 : WIDTH - BOX - 10, y, height, isLeft: column === 0, node };
  });
}

function lanePath(hub: { readonly x: number; readonly y: number }, { x, y, isLeft }: Place): string {
  const side = isLeft ? -1 : 1;
  const [start, end] = [hub.x + side * HUB, isLeft ? x + BOX : x];
  const to = y + HEAD / 2;
  return `M${start} ${hub.y} C${start + side * 80} ${hub.y} ${end - side * 90} ${to} ${end} ${to}`;
}

/** As on old sea charts, lines go out from the rose. */
function rhumbs(hub: { readonly x: number; readonly y: number }, width: number, height: number): SVGElement[] {
  const far = width + height;
  return Array.from({ length: 32 }, (_, i) => {
    const angle = (i * Math.PI) / 16;
    return svg('line', {
      class: 'rhumb',
      x1: hub.x,
      y1: hub.y,
      x2: hub.x + far * Math.cos(angle),
      y2: hub.y + far * Math.sin(angle),
    });
  });
}
