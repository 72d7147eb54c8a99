// A range of ports, as a setting writes it. In: text. Out: its bounds, and an order in which to try them.

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `N`, `A-B` or `A+n`, all inclusive; '', `0` and `0-0` are any that the kernel gives. Undefined if it is none of these. */
export function parsePortRange(text: string): PortRange | 'any' | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return 'any';
  const match = /^(\d+)(?:([-+])(\d+))?$/.exec(trimmed);
  const first = Number(match?.[1]);
  const second = Number(match?.[3] ?? first);
  const last = match?.[2] === '+' ? first + second : second;
  if (!match || last > 65535 || first > last) return undefined;
  return last === 0 ? 'any' : { first, last };
}

/** Every port once, from a random one upwards and around. */
export function* candidates({ first, last }: PortRange, random: () => number): Generator<number> {
  const size = last - first + 1;
  const start = Math.floor(random() * size);
  for (let i = 0; i < size; i++) yield first + ((start + i) % size);
}
