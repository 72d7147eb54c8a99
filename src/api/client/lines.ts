// In: bytes in pieces of any size.  Out: whole lines, one at a time. Only an unfinished line is held.
import { ApiError } from './error.ts';

export const DOCUMENT_LIMIT_BYTES = 16 << 20; // etcd keeps objects below 1.5 MB; JSON and a frame around it stay far below this

export class LineSplitter {
  readonly #limitBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(limitBytes = DOCUMENT_LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  /** Bytes of an unfinished line. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  push(chunk: Buffer, onLine: (line: string) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = this.#take(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== '') onLine(line);
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  #take(tail: Buffer): string {
    if (this.#pending.length === 0) return tail.toString('utf8');
    this.#hold(tail);
    const line = Buffer.concat(this.#pending, this.#pendingBytes).toString('utf8');
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }

  #hold(bytes: Buffer): void {
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > this.#limitBytes) throw tooLong('a line', this.#limitBytes);
    this.#pending.push(bytes);
  }
}

const NEWLINE = 0x0a;

export function tooLong(what: string, limitBytes = DOCUMENT_LIMIT_BYTES): ApiError {
  return new ApiError({ code: 'API_CONTENT', message: `${what} has more than ${limitBytes} bytes` });
}
