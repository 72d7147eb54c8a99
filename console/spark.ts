// The last minute of all traffic, in the bar.
import { el, svg } from './dom.ts';
import { rateText } from './format.ts';

const POINTS = 60;
const WIDTH = 110;
const HEIGHT = 26;

export class Spark {
  readonly #values: number[] = [];
  readonly #line = svg('polyline', { class: 'spark-line' });
  readonly #area = svg('polygon', { class: 'spark-area' });
  readonly #now = el('b', {});

  constructor(root: HTMLElement) {
    root.append(
      svg(
        'svg',
        { class: 'spark', width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': true },
        this.#area,
        this.#line,
      ),
      el('span', { class: 'spark-text' }, this.#now, el('small', {}, 'connections')),
    );
  }

  add(rate: number): void {
    this.#values.push(rate);
    if (this.#values.length > POINTS) this.#values.shift();
    const top = Math.max(1, ...this.#values);
    const points = this.#values.map(
      (value, i) =>
        `${WIDTH - (this.#values.length - 1 - i) * (WIDTH / (POINTS - 1))},${HEIGHT - 2 - (value / top) * (HEIGHT - 5)}`,
    );
    this.#line.setAttribute('points', points.join(' '));
    const first = points[0]?.split(',')[0] ?? WIDTH;
    this.#area.setAttribute('points', `${first},${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`);
    this.#now.textContent = rateText(rate);
  }
}
