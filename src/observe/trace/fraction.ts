// Exact shares. A chain of `1 of 3`, `1 of 2`, `the rest` gives thirds here, and not 0.33333333349.

export interface Fraction {
  readonly numerator: bigint;
  /** Positive, and without a common factor with the numerator. */
  readonly denominator: bigint;
}

export const ZERO: Fraction = { numerator: 0n, denominator: 1n };
export const ONE: Fraction = { numerator: 1n, denominator: 1n };

export function fraction(numerator: bigint | number, denominator: bigint | number = 1n): Fraction {
  const top = BigInt(numerator);
  const bottom = BigInt(denominator);
  const shared = gcd(top < 0n ? -top : top, bottom);
  return shared === 1n
    ? { numerator: top, denominator: bottom }
    : { numerator: top / shared, denominator: bottom / shared };
}

export function times(a: Fraction, b: Fraction): Fraction {
  if (a === ONE) return b;
  if (b === ONE) return a;
  return fraction(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function plus(a: Fraction, b: Fraction): Fraction {
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

/** What is left of one. */
export function rest(a: Fraction): Fraction {
  return { numerator: a.denominator - a.numerator, denominator: a.denominator };
}

export function isZero(a: Fraction): boolean {
  return a.numerator === 0n;
}

export function isOne(a: Fraction): boolean {
  return a.numerator === a.denominator;
}

export function sameFraction(a: Fraction, b: Fraction): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

export function sum(all: readonly Fraction[]): Fraction {
  return all.reduce(plus, ZERO);
}

/** `1/3`, `1`. */
export function fractionText({ numerator, denominator }: Fraction): string {
  return denominator === 1n ? String(numerator) : `${numerator}/${denominator}`;
}

export function toNumber({ numerator, denominator }: Fraction): number {
  return Number(numerator) / Number(denominator);
}

// The kernel keeps a probability in 31 bits and iptables prints it with 11 decimals, of what had 10 when it was written.
const TOLERANCE = 3e-10;

/** The share that a printed probability stands for: 1/n where it is one as far as the digits can tell, else just the digits. */
export function probabilityOf(text: string): Fraction | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return undefined;
  const value = Number(text);
  const n = Math.round(1 / value);
  if (value > 0 && Number.isSafeInteger(n) && Math.abs(value - 1 / n) <= TOLERANCE) return fraction(1, n);
  const decimals = match[2] ?? '';
  return fraction(BigInt(match[1]! + decimals), 10n ** BigInt(decimals.length));
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
