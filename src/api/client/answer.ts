// In: the head of an answer.  Out: the same, if it is a good one in JSON; else an ApiError with what can be learnt from it.
import type { IncomingMessage } from 'node:http';
import { readBody } from './body.ts';
import { ApiError, statusError } from './error.ts';
import { type ApiRequest, asked } from './request.ts';

const ERROR_BODY_LIMIT_BYTES = 64 << 10;

export async function checkedAnswer(
  request: ApiRequest,
  response: IncomingMessage,
  silenceLimitMs: number,
): Promise<IncomingMessage> {
  const status = response.statusCode ?? 0;
  const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '');
  if (status >= 200 && status < 300 && isJson) return response;

  const text = await readBody(response, asked(request), silenceLimitMs, ERROR_BODY_LIMIT_BYTES).catch(() => '');
  const type = response.headers['content-type'] ?? 'no content type';
  if (status >= 200 && status < 300) throw contentError(request, `${type} instead of JSON: ${snippet(text)}`);
  const retryAfterSeconds = Number(response.headers['retry-after']) || 0;
  // Not every error comes from the API server: a load balancer's page has no Status object in it.
  const body = isJson ? parsedOr(text) : { kind: 'Status', message: `(${type}) ${snippet(text)}` };
  throw statusError(asked(request), body, status, retryAfterSeconds);
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { kind: 'Status', message: `(broken JSON) ${snippet(text)}` };
  }
}

export function contentError(request: Pick<ApiRequest, 'method' | 'path'>, problem: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'API_CONTENT', message: `${asked(request)}: the answer is ${problem}`, cause });
}

/** The start of a text, on one line, for a message. */
export function snippet(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 120 ? `${line.slice(0, 120)}...` : line || '(empty)';
}
