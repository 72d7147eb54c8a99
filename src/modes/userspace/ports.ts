// The ports that relays may listen on. In: the setting. Out: the order in which to try them.

/** Undefined: any that the kernel gives. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** `N`, `A-B` or `A+n`, all inclusive; '', `0` and `0-0` leave it to the kernel. Throws on anything else. */
export function parsePortRange(text: string): PortRange | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const match = /^(\d+)(?:([-+])(\d+))?$/.exec(trimmed);
  const first = Number(match?.[1]);
  const second = Number(match?.[3] ?? first);
  const last = match?.[2] === '+' ? first + second : second;
  if (!match || last > 65535 || first > last) throw new Error(`not a range of ports: ${text}`);
  return last === 0 ? undefined : { first, last };
}

/** Every port once, from a random one upwards and around. */
export function* candidates({ first, last }: PortRange, random: () => number): Generator<number> {
  const size = last - first + 1;
  const start = Math.floor(random() * size);
  for (let i = 0; i < size; i++) yield first + ((start + i) % size);
}
