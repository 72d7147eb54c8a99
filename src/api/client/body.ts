// The body of an answer, as it comes. A connection that breaks or falls silent ends the stream with an ApiError.
import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { ApiError } from './error.ts';
import { DOCUMENT_LIMIT_BYTES, tooLong } from './lines.ts';

/** Ends normally only if the server ended the body. The answer is closed when the caller leaves the loop. */
export async function* streamOf(
  response: IncomingMessage,
  asked: string,
  silenceLimitMs: () => number,
): AsyncGenerator<Buffer, void, undefined> {
  const startTimer = (): NodeJS.Timeout => {
    const limitMs = silenceLimitMs();
    return setTimeout(() => response.destroy(stalled(asked, limitMs)), limitMs);
  };
  let timer = startTimer();
  try {
    for await (const chunk of await unzipped(response)) {
      clearTimeout(timer);
      yield chunk as Buffer;
      timer = startTimer(); // the caller's own time with the chunk is not the server's silence
    }
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    // Z_BUF_ERROR is the end of the input, which a cut connection can look like; the others are bytes that make no sense.
    throw code?.startsWith('Z_') && code !== 'Z_BUF_ERROR'
      ? new ApiError({ code: 'API_CONTENT', message: `${asked}: the answer is not gzip: ${message}`, cause })
      : new ApiError({
          code: 'API_CUT',
          message: `${asked}: the connection ended in the middle of the answer: ${message}`,
          cause,
        });
  } finally {
    clearTimeout(timer);
    response.destroy();
  }
}

async function unzipped(response: IncomingMessage): Promise<Readable> {
  if (response.headers['content-encoding'] !== 'gzip') return response;
  const { createGunzip } = await import('node:zlib');
  return pipeline(response, createGunzip(), () => {}); // an error on either side reaches whoever reads the end of it
}

function stalled(asked: string, limitMs: number): ApiError {
  return new ApiError({
    code: 'API_STALLED',
    message: `${asked}: the connection stands, but nothing came for ${limitMs / 1000} s`,
  });
}

export async function readBody(
  response: IncomingMessage,
  asked: string,
  silenceLimitMs: number,
  limitBytes = DOCUMENT_LIMIT_BYTES,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of streamOf(response, asked, () => silenceLimitMs)) {
    bytes += chunk.length;
    if (bytes > limitBytes) throw tooLong(`${asked}: the answer`, limitBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
