// Looking things up as nf_tables does: a key is made of the packet's fields, written as nft writes elements, and of draws.
import { cidrContains, ipBytes } from '../../lib/ip.ts';
import { type Fraction, fraction, ONE } from './fraction.ts';
import type { Travelling } from './judge.ts';
import type { ElementSet, KeyField, KeyPart, Table } from './ruleset.ts';

export function setOf(set: string | ElementSet, table: Table): ElementSet | undefined {
  return typeof set === 'string' ? table.sets.get(set) : set;
}

export interface Key {
  readonly text: string;
  /** How likely it is that this one is drawn. */
  readonly share: Fraction;
}

/** One, or as many as there are numbers to draw. None if the packet does not have all fields. */
export function keysOf(parts: readonly KeyPart[], packet: Travelling): readonly Key[] {
  let texts = [''];
  let draws = 1;
  for (const [i, part] of parts.entries()) {
    const joint = i === 0 ? '' : ' . ';
    if (part.kind === 'field') {
      const value = fieldOf(part.field, packet);
      if (value === undefined) return [];
      texts = texts.map((text) => `${text}${joint}${value}`);
    } else {
      draws *= part.count;
      texts = texts.flatMap((text) => numbers(part.count, part.offset).map((number) => `${text}${joint}${number}`));
    }
  }
  const share = draws === 1 ? ONE : fraction(1, draws);
  return texts.map((text) => ({ text, share }));
}

function numbers(count: number, offset: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => offset + i);
}

function fieldOf(field: KeyField, packet: Travelling): string | number | undefined {
  switch (field) {
    case 'src':
      return packet.src;
    case 'dst':
      return packet.dst;
    case 'protocol':
      return packet.protocol;
    case 'src-port':
      return packet.srcPort;
    case 'dst-port':
      return packet.dstPort;
    case 'mark':
      return packet.mark;
    case 'original-dst':
      return packet.originalDst;
    case 'original-dst-port':
      return packet.originalDstPort;
  }
}

/** The element's value, '' for sets; undefined if there is no such element. */
export function lookUp(set: ElementSet, key: string): string | undefined {
  const exact = set.elements.get(key);
  if (exact !== undefined) return exact;
  return set.ranges.find(({ text }) => covers(text, key))?.value;
}

function covers(range: string, key: string): boolean {
  if (range.includes('/')) return cidrContains(range, key);
  const [from, to] = range.split('-') as [string, string];
  if (/^\d+$/.test(from)) return Number(from) <= Number(key) && Number(key) <= Number(to);
  return isBetween(key, from, to);
}

export function isBetween(ip: string, from: string, to: string): boolean {
  const [at, low, high] = [ip, from, to].map((text) => Buffer.from(ipBytes(text)).toString('hex')) as [
    string,
    string,
    string,
  ];
  return at.length === low.length && low <= at && at <= high;
}
