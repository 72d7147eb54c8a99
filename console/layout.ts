// In: a picture as data.  Out: where everything stands. Columns follow the packet: addresses, chains by depth, endpoints.
import type { LeftOutShape, Picture, PictureNode } from '../src/observe/console/shapes.ts';

export interface Placed {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, Placed>;
  /** Endpoints beyond those that are drawn. */
  readonly hidden: number;
}

type Widths = Readonly<Record<PictureNode['kind'], number>>;
const WIDE: Widths = { frontend: 190, chain: 236, endpoint: 250, end: 250 };
/** Where many columns stand side by side. */
const NARROW: Widths = { frontend: 152, chain: 158, endpoint: 226, end: 226 };
const HEIGHT = 58;
const GAP = 16;
const MAX_ENDPOINTS = 40;
const MIN_CHANNEL = 84;
const WIDE_CHANNEL = 110;

export function layoutOf(picture: Picture, leftOut: readonly LeftOutShape[], width: number): Layout {
  const depths = depthsOf(picture);
  const last = Math.max(1, ...depths.values());
  const endpoints = picture.nodes.filter(({ kind }) => kind === 'endpoint');
  const drawn = new Set(endpoints.slice(0, MAX_ENDPOINTS).map(({ id }) => id));
  const columns: string[][] = Array.from({ length: last + 1 }, () => []);
  for (const node of picture.nodes) {
    if (node.kind === 'endpoint' && !drawn.has(node.id)) continue;
    columns[depths.get(node.id)!]!.push(node.id);
  }
  const room = Math.max(0, MAX_ENDPOINTS - drawn.size);
  columns[last]!.push(...leftOut.slice(0, room).map(({ address }) => leftOutId(address)));

  const kinds = new Map(picture.nodes.map(({ id, kind }) => [id, kind]));
  const widthsIn = (sizes: Widths): readonly number[] =>
    columns.map((ids) => Math.max(0, ...ids.map((id) => sizes[kinds.get(id) ?? 'endpoint'])));
  const total = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0);
  const isTight = total(widthsIn(WIDE)) + last * WIDE_CHANNEL > width;
  const widths = widthsIn(isTight ? NARROW : WIDE);
  const used = total(widths);
  const channel = Math.max(MIN_CHANNEL, (width - used - 2) / Math.max(1, columns.length - 1));
  const rows = Math.max(1, ...columns.map(({ length }) => length));
  const height = rows * (HEIGHT + GAP) + GAP;

  const nodes = new Map<string, Placed>();
  let x = 1;
  for (const [i, ids] of columns.entries()) {
    for (const [id, y] of placeColumn(ids, i === last ? undefined : picture, nodes, height))
      nodes.set(id, { id, x, y, width: widths[i]!, height: HEIGHT });
    x += widths[i]! + channel;
  }
  return {
    width: x - channel + 1,
    height,
    nodes,
    hidden: endpoints.length - drawn.size + Math.max(0, leftOut.length - room),
  };
}

export function leftOutId(address: string): string {
  return `left out ${address}`;
}

/** The longest way from an address; what ends a way stands in the last column. */
function depthsOf({ nodes, edges }: Picture): Map<string, number> {
  const depths = new Map<string, number>();
  const depth = (id: string): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    depths.set(id, 0);
    const value = Math.max(0, ...edges.filter(({ to }) => to === id).map(({ from }) => depth(from) + 1));
    depths.set(id, value);
    return value;
  };
  for (const { id, kind } of nodes) if (kind === 'chain' || kind === 'frontend') depth(id);
  const last = 1 + Math.max(0, ...nodes.flatMap(({ id, kind }) => (kind === 'chain' ? [depths.get(id)!] : [])));
  for (const { id, kind } of nodes) {
    if (kind === 'frontend') depths.set(id, 0);
    else if (kind !== 'chain') depths.set(id, last);
  }
  return depths;
}

/** Spread over the height; chains stand beside those who lead to them. */
function placeColumn(
  ids: readonly string[],
  picture: Picture | undefined,
  placed: ReadonlyMap<string, Placed>,
  height: number,
): readonly (readonly [string, number])[] {
  const slot = height / Math.max(1, ids.length);
  const even = ids.map((id, i): [string, number] => [id, slot * (i + 0.5) - HEIGHT / 2]);
  if (!picture || placed.size === 0) return even;
  const wish = (id: string): number => {
    const from = picture.edges.filter(({ to }) => to === id).flatMap((edge) => placed.get(edge.from) ?? []);
    return from.length === 0 ? height / 2 : from.reduce((sum, { y }) => sum + y, 0) / from.length;
  };
  const sorted = ids.map((id): [string, number] => [id, wish(id)]).sort(([, a], [, b]) => a - b);
  if (sorted.length === 1) return [[sorted[0]![0], Math.min(sorted[0]![1], height - HEIGHT - GAP)]];
  for (let i = 1; i < sorted.length; i++) sorted[i]![1] = Math.max(sorted[i]![1], sorted[i - 1]![1] + HEIGHT + GAP);
  const over = sorted.at(-1)![1] + HEIGHT + GAP - height;
  return over > 0 ? even.map(([, y], i) => [sorted[i]![0], y]) : sorted;
}
