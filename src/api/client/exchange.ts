// In: a request ready to go.  Out: the head of the answer, whatever it says, or why there is none.
import { type Agent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ApiError } from './error.ts';
import { type ApiRequest, asked } from './request.ts';

export interface Exchange {
  readonly agent: Agent;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | undefined;
  readonly answerLimitMs: number;
}

export function exchange(url: URL, request: ApiRequest, options: Exchange): Promise<IncomingMessage> {
  const { method, signal } = request;
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const sent = send(url, { method, agent: options.agent, headers: options.headers, ...(signal ? { signal } : {}) });
    const timer = setTimeout(
      () => sent.destroy(new Error(`no answer within ${options.answerLimitMs / 1000} s`)),
      options.answerLimitMs,
    );
    let hasAnswer = false;
    sent.on('response', (response) => {
      hasAnswer = true;
      clearTimeout(timer);
      resolve(response);
    });
    // Stays for the life of the request: a connection that breaks later reports here too, beside the answer's stream.
    sent.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      // The server may close an idle connection in the moment we choose it; then the request was never read.
      const isStale = sent.reusedSocket && !hasAnswer && error.code === 'ECONNRESET' && method === 'GET';
      if (isStale) resolve(exchange(url, request, options));
      else reject(error);
    });
    sent.end(options.body);
  });
}

export function unreachable(request: ApiRequest, host: string, cause: unknown): ApiError {
  if (cause instanceof ApiError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  // A name with several addresses fails with a list of errors and an empty message.
  const reasons =
    cause instanceof AggregateError ? cause.errors.map((error: Error) => error.message).join('; ') : message;
  return new ApiError({
    code: 'API_UNREACHABLE',
    message: `${asked(request)}: ${host} cannot be reached: ${reasons || code}`,
    ...(code ? { reason: code } : {}),
    cause,
  });
}
