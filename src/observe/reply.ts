// The answers that HTTP pages share. In: a response to fill. A page is a function of the request; a reply is plain data.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Answers with a reply, or writes the response itself (a stream) and returns nothing. */
export type Page = (
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
) => Reply | undefined | Promise<Reply | undefined>;

export const PLAIN_TEXT = 'text/plain; charset=utf-8';

export function reply(status: number, contentType: string, body: string | Buffer): Reply {
  return { status, headers: { 'Content-Type': contentType, 'X-Content-Type-Options': 'nosniff' }, body };
}

export function notFound(): Reply {
  return reply(404, PLAIN_TEXT, '404 page not found\n');
}

/** Serves the page whose path is the request's; `/debug/pprof/*` stands for all paths below it. */
export function servePages(pages: ReadonlyMap<string, Page>, onError: (error: unknown) => void): RequestListener {
  return (request, response) => {
    void (async () => {
      try {
        const url = requestUrl(request.url ?? '');
        const answer = await pageFor(pages, url.pathname)(request, url, response);
        if (answer) send(response, answer);
      } catch (error) {
        onError(error);
        if (response.headersSent) response.destroy();
        else send(response, reply(500, PLAIN_TEXT, 'internal error, see the log\n'));
      }
    })();
  };
}

/** A path, or a whole URL as clients send it to a proxy. What is neither (`OPTIONS *`) leads to no page. */
function requestUrl(text: string): URL {
  const whole = text.startsWith('/') ? `http://localhost${text}` : text;
  return URL.canParse(whole) ? new URL(whole) : new URL('http://localhost/');
}

function pageFor(pages: ReadonlyMap<string, Page>, path: string): Page {
  const exact = pages.get(path);
  if (exact) return exact;
  for (const [pattern, page] of pages) {
    if (pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1))) return page;
  }
  return notFound;
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
