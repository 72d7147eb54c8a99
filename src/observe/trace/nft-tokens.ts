// In: the text of `nft list ruleset`.  Out: its words, one after another. Line ends count, as they end rules, except inside the
// braces of elements.

export class NftTokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  static of(text: string): NftTokens {
    const tokens: string[] = [];
    for (const match of text.matchAll(/"[^"]*"|#[^\n]*|[{};,\n]|[^\s{};,"]+/g))
      if (!match[0].startsWith('#')) tokens.push(match[0]);
    return new NftTokens(tokens);
  }

  get isEmpty(): boolean {
    return this.#at >= this.#tokens.length;
  }

  peek(ahead = 0): string {
    return this.#tokens[this.#at + ahead] ?? '';
  }

  next(): string {
    return this.#tokens[this.#at++] ?? '';
  }

  take(...words: readonly string[]): boolean {
    if (!words.every((word, i) => this.peek(i) === word)) return false;
    this.#at += words.length;
    return true;
  }

  skipLines(): void {
    while (this.peek() === '\n' || this.peek() === ';') this.next();
  }

  /** The words up to the end of the line; braces may span lines. */
  line(): string[] {
    const words: string[] = [];
    let depth = 0;
    while (!this.isEmpty && (depth > 0 || (this.peek() !== '\n' && this.peek() !== '}'))) {
      const word = this.next();
      if (word === '{') depth++;
      if (word === '}') depth--;
      if (word !== '\n') words.push(word);
    }
    return words;
  }

  /** Everything between braces, of which the first is next. */
  block(): string[] {
    const words: string[] = [];
    if (!this.take('{')) return words;
    for (let depth = 1; !this.isEmpty; ) {
      const word = this.next();
      if (word === '{') depth++;
      if (word === '}' && --depth === 0) break;
      if (word !== '\n') words.push(word);
    }
    return words;
  }
}

export function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}
