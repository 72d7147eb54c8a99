// Moving dots: each is a new connection, or a fixed number of them where there are too many to see. They enter at the addresses
// as often as the kernel counted, and at each chain take an edge as often as the kernel saw it taken.
import { svg } from './dom.ts';

export interface DotEdge {
  readonly from: string;
  readonly to: string;
  readonly path: SVGPathElement;
  /** Per second, as counted. */
  rate: number;
}

interface Dot {
  readonly circle: SVGCircleElement;
  edge: DotEdge;
  at: number;
}

const PIXELS_PER_SECOND = 240;
const MAX_DOTS_PER_SECOND = 40;

export class Dots {
  readonly #layer: SVGGElement;
  readonly #edges: readonly DotEdge[];
  readonly #entries: ReadonlySet<string>;
  readonly #dots = new Set<Dot>();
  readonly #owed = new Map<DotEdge, number>();
  readonly #lengths = new Map<DotEdge, number>();
  #frame = 0;
  #last = 0;

  constructor(layer: SVGGElement, edges: readonly DotEdge[], entries: ReadonlySet<string>) {
    this.#layer = layer;
    this.#edges = edges;
    this.#entries = entries;
  }

  /** How many connections a dot stands for. */
  get scale(): number {
    const total = this.#entering().reduce((sum, { rate }) => sum + rate, 0);
    const least = total / MAX_DOTS_PER_SECOND;
    if (least <= 1) return 1;
    const power = 10 ** Math.floor(Math.log10(least));
    return power * [1, 2, 5, 10].find((step) => step * power >= least)!;
  }

  start(): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const step = (now: number): void => {
      this.#advance(Math.min(0.1, (now - this.#last) / 1000));
      this.#last = now;
      this.#frame = requestAnimationFrame(step);
    };
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(step);
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    for (const { circle } of this.#dots) circle.remove();
    this.#dots.clear();
  }

  #entering(): readonly DotEdge[] {
    return this.#edges.filter(({ from }) => this.#entries.has(from));
  }

  #advance(seconds: number): void {
    const { scale } = this;
    for (const edge of this.#entering()) {
      // Connections do not come in step.
      const owed = (this.#owed.get(edge) ?? 0) + (edge.rate / scale) * seconds * (0.4 + 1.2 * Math.random());
      const due = Math.floor(owed);
      this.#owed.set(edge, owed - due);
      for (let i = 0; i < due; i++) this.#enter(edge, Math.random() * 14);
    }
    for (const dot of this.#dots) this.#move(dot, seconds * PIXELS_PER_SECOND);
  }

  #enter(edge: DotEdge, at: number): void {
    const circle = svg('circle', { class: 'dot', r: 3.6 });
    this.#layer.append(circle);
    this.#dots.add({ circle, edge, at });
  }

  #move(dot: Dot, distance: number): void {
    dot.at += distance;
    const length = this.#length(dot.edge);
    if (dot.at > length) {
      const next = this.#next(dot.edge.to);
      if (!next) {
        dot.circle.remove();
        this.#dots.delete(dot);
        return;
      }
      dot.at = 0;
      dot.edge = next;
    }
    const { x, y } = dot.edge.path.getPointAtLength(dot.at);
    dot.circle.setAttribute('cx', String(x));
    dot.circle.setAttribute('cy', String(y));
  }

  #length(edge: DotEdge): number {
    const known = this.#lengths.get(edge) ?? edge.path.getTotalLength();
    this.#lengths.set(edge, known);
    return known;
  }

  #next(from: string): DotEdge | undefined {
    const ways = this.#edges.filter((edge) => edge.from === from && edge.rate > 0);
    let draw = Math.random() * ways.reduce((sum, { rate }) => sum + rate, 0);
    for (const way of ways) {
      draw -= way.rate;
      if (draw <= 0) return way;
    }
    return ways.at(-1);
  }
}
