// The registers of nf_tables while a rule is read: what each piece of 4 bytes was loaded with. A key of several parts lies in pieces
// that follow each other; a part that was written over, in whole or not, is no longer there.
import type { NftSet, NftType } from '../../kernel/nftables-objects.ts';
import { typeLength } from '../../kernel/nftables-values.ts';

export type Loaded =
  | {
      readonly kind: 'field';
      /** As nft calls it: `ip daddr`. Of ports, which transport is asked for stands elsewhere. */
      readonly words: string;
      readonly type: NftType | 'device' | 'state' | 'status' | 'address-type';
      readonly isTransport?: boolean;
      readonly bytes: number;
      readonly masked?: { readonly mask: Uint8Array; readonly xor: Uint8Array };
    }
  /** The value that a map has for a key. */
  | {
      readonly kind: 'mapped';
      readonly key: string;
      readonly map: NftSet;
      readonly part: number;
      readonly bytes: number;
    }
  | { readonly kind: 'constant'; readonly data: Uint8Array; readonly bytes: number };

export class Registers {
  readonly #pieces = new Map<number, { readonly loaded: Loaded; readonly piece: number }>();

  load(register: number, loaded: Loaded): void {
    const at = pieceOf(register);
    for (let piece = 0; piece < pieces(loaded.bytes); piece++) this.#pieces.set(at + piece, { loaded, piece });
  }

  /** What was loaded there, if all of it still is. */
  at(register: number, skippedPieces = 0): Loaded | undefined {
    const at = pieceOf(register) + skippedPieces;
    const loaded = this.#pieces.get(at)?.loaded;
    if (!loaded) return undefined;
    for (let piece = 0; piece < pieces(loaded.bytes); piece++) {
      const there = this.#pieces.get(at + piece);
      if (there?.loaded !== loaded || there.piece !== piece) return undefined;
    }
    return loaded;
  }

  /** The parts of a key, from a register on. */
  key(register: number, types: readonly NftType[]): readonly Extract<Loaded, { kind: 'field' }>[] | undefined {
    const parts: Extract<Loaded, { kind: 'field' }>[] = [];
    let skipped = 0;
    for (const type of types) {
      const part = this.at(register, skipped);
      if (part?.kind !== 'field' || part.type !== type || part.masked || part.bytes !== typeLength([type]))
        return undefined;
      parts.push(part);
      skipped += pieces(part.bytes);
    }
    return parts;
  }

  clear(): void {
    this.#pieces.clear();
  }
}

export function pieces(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Registers 1 to 4 have 16 bytes; 8 to 23 are the same room in pieces of 4. */
export function pieceOf(register: number): number {
  return register < 8 ? (register - 1) * 4 : register - 8;
}
