// `/api/v1/nodes/NAME:PORT/proxy/…`: the API server hands the request on to a program on a node, as `kubectl get --raw` and
// kubectl plugins ask it to.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { relay } from '../relay.ts';
import { type Access, authenticate } from './access.ts';
import { ApiError } from './status.ts';

export type ConnectToNode = (node: string, port: number) => Promise<Socket>;

const PATH = /^\/api\/v1\/nodes\/(?:http:)?([^/:]+):(\d+)\/proxy(\/.*)?$/;

/** True if the request was for it. */
export function serveNodeProxy(
  message: IncomingMessage,
  response: ServerResponse,
  connect: ConnectToNode | undefined,
  access: readonly Access[] | undefined,
): boolean {
  const url = new URL(message.url ?? '/', 'http://server');
  const [, node, port, path = '/'] = PATH.exec(url.pathname) ?? [];
  if (!connect || node === undefined) return false;
  const user = authenticate(access, message.headers.authorization);
  if (user && !user.rules.some(({ resources }) => resources.includes('*') || resources.includes('nodes/proxy')))
    throw new ApiError(
      403,
      'Forbidden',
      `nodes "${node}" is forbidden: User "${user.user}" cannot get resource "nodes/proxy"`,
    );
  void relay(message, response, `${path}${url.search}`, () => connect(node, Number(port)));
  return true;
}
