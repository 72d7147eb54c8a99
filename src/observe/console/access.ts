// Who may ask. In: a request, the token if there is one, and where the socket is. Out: why not, or undefined.
//
// On loopback without a token, a web page elsewhere could still reach us by giving its own name our address (DNS rebinding), so
// the name it asks for must be this machine's. With a token the name does not matter: that page has no token to show.
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopback, parseIp } from '../../lib/ip.ts';

export interface Refusal {
  readonly status: 401 | 403 | 405;
  readonly text: string;
}

/** `token` undefined: none is asked for. */
export function refusal(request: IncomingMessage, url: URL, token: string | undefined): Refusal | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, text: 'the console only shows' };
  if (token === undefined) {
    return isLocalName(request.headers.host ?? '')
      ? undefined
      : { status: 403, text: 'without a token the console answers to the names of this machine alone' };
  }
  if (!url.pathname.startsWith('/api/')) return undefined; // the page itself says nothing about the cluster
  const shown = shownToken(request, url);
  if (shown === undefined) return { status: 401, text: 'a token is needed' };
  return isSame(shown, token) ? undefined : { status: 401, text: 'this is not the token' };
}

/** In a header of ours, as the API server's proxy keeps Authorization to itself; in the URL for `kubectl get --raw`. */
function shownToken({ headers }: IncomingMessage, url: URL): string | undefined {
  const own = headers['x-portolan-token'];
  if (typeof own === 'string') return own;
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? url.searchParams.get('token') ?? undefined;
}

function isSame(shown: string, token: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `localhost:10253`, `127.0.0.1`, `[::1]:10253` */
export function isLocalName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  const ip = parseIp(name);
  return name === 'localhost' || (ip !== undefined && isLoopback(ip));
}

/** Whether a bind address is this machine's alone. */
export function isLoopbackAddress(bindAddress: string): boolean {
  return isLocalName(bindAddress);
}
