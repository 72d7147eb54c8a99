// In: the bytes of a List document, in pieces.  Out: the text of each element of `items`, one at a time, and at the end the
// document around them. Neither the whole text nor the whole tree ever exists, however long the list is.
import { DOCUMENT_LIMIT_BYTES, tooLong } from './lines.ts';

export class ListSplitter {
  readonly #onItem: (json: string) => void;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isInItems = false;
  /** The last string at depth 1, and the last one a colon followed: where `items` is recognised. */
  #word = '';
  #key = '';
  #isInWord = false;
  /** Bytes of the unfinished item (inside) or of the document around the items (outside). */
  #item: Buffer[] = [];
  #itemBytes = 0;
  #envelope: Buffer[] = [];
  #envelopeBytes = 0;

  constructor(onItem: (json: string) => void) {
    this.#onItem = onItem;
  }

  push(chunk: Buffer): void {
    let start = 0; // of the bytes not yet given to an item or the envelope
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#isInString) {
        this.#inString(byte);
        continue;
      }
      if (byte === QUOTE) {
        this.#isInString = true;
        this.#isInWord = this.#depth === 1;
        if (this.#isInWord) this.#word = '';
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.#isInItems && this.#depth === ITEMS_DEPTH) start = i; // drops the comma and blanks before the item
        this.#depth++;
        if (byte === OPEN_BRACKET && this.#depth === ITEMS_DEPTH && this.#key === 'items') {
          this.#isInItems = true;
          this.#keepEnvelope(chunk.subarray(start, i + 1));
          start = i + 1;
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth--;
        if (this.#isInItems && this.#depth === ITEMS_DEPTH) {
          this.#finishItem(chunk.subarray(start, i + 1));
          start = i + 1;
        } else if (this.#isInItems && this.#depth < ITEMS_DEPTH) {
          this.#isInItems = false;
          start = i;
        }
      } else if (byte === COLON && this.#depth === 1) this.#key = this.#word;
    }
    if (this.#isInItems) {
      if (this.#depth > ITEMS_DEPTH) this.#keepItem(chunk.subarray(start));
    } else this.#keepEnvelope(chunk.subarray(start));
  }

  /** The document with an empty `items`. Throws a SyntaxError if it is not complete. */
  end(): unknown {
    if (this.#depth !== 0 || this.#isInString) throw new SyntaxError('the document ends in the middle');
    return JSON.parse(Buffer.concat(this.#envelope).toString('utf8'));
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) {
      this.#isInString = false;
      this.#isInWord = false;
    } else if (this.#isInWord && this.#word.length < KEY_LIMIT) this.#word += String.fromCharCode(byte);
  }

  #finishItem(tail: Buffer): void {
    const isWhole = this.#item.length === 0;
    if (!isWhole) this.#keepItem(tail);
    const bytes = isWhole ? tail : Buffer.concat(this.#item, this.#itemBytes);
    this.#item = [];
    this.#itemBytes = 0;
    this.#onItem(bytes.toString('utf8'));
  }

  #keepItem(bytes: Buffer): void {
    this.#itemBytes += bytes.length;
    if (this.#itemBytes > DOCUMENT_LIMIT_BYTES) throw tooLong('an item of the list');
    this.#item.push(bytes);
  }

  #keepEnvelope(bytes: Buffer): void {
    this.#envelopeBytes += bytes.length;
    if (this.#envelopeBytes > DOCUMENT_LIMIT_BYTES) throw tooLong('the list without its items');
    this.#envelope.push(Buffer.from(bytes)); // a copy, so that the chunk can go
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Inside the top object and its `items` list. */
const ITEMS_DEPTH = 2;
/** Longer words at the top level are not `items`. */
const KEY_LIMIT = 16;
