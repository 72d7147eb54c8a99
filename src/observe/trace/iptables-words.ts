// The words of one rule, taken one after another.

export class Words {
  readonly #words: readonly string[];
  #at = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#words.length;
  }

  next(): string {
    return this.#words[this.#at++] ?? '';
  }

  /** True, and one further, if the next word is this one. */
  take(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at++;
    return true;
  }

  /** The words up to one that ends it, which is left, and so is a `!` in front of it. */
  until(isEnd: (word: string) => boolean): string[] {
    const taken: string[] = [];
    while (!this.isEmpty) {
      const word = this.#words[this.#at]!;
      const decisive = word === '!' ? this.#words[this.#at + 1] : word;
      if (decisive !== undefined && isEnd(decisive)) break;
      taken.push(this.next());
    }
    return taken;
  }
}

/** `0x4000/0x4000`, `16`; without a mask all bits count. */
export function valueAndMask(text: string): { readonly value: number; readonly mask: number } {
  const [value, mask] = text.split('/') as [string, string | undefined];
  return { value: Number(value) >>> 0, mask: mask === undefined ? ALL_BITS : Number(mask) >>> 0 };
}

export const ALL_BITS = 0xffffffff;
