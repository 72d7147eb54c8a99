// One console for all nodes of the lab: the agents' own page, with a choice of nodes. In: how each agent's console is reached.
// Out: a page on this machine's loopback.
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { DEFAULT_CONSOLE_PORT } from '../config/configuration.ts';
import { refusal } from '../observe/console/access.ts';
import { pageFile, SECURITY_HEADERS } from '../observe/console/page-files.ts';
import type { NodesShape } from '../observe/console/shapes.ts';
import { relay } from './relay.ts';

export interface LabConsoleOptions {
  readonly nodes: readonly { readonly name: string; readonly connect: (port: number) => Promise<Socket> }[];
  /** On loopback; 0, the default, takes any free one. */
  readonly port?: number;
}

export interface LabConsole {
  readonly url: string;
  close(): Promise<void>;
}

export async function startLabConsole({ nodes, port = 0 }: LabConsoleOptions): Promise<LabConsole> {
  const listed: NodesShape = { nodes: nodes.map(({ name }) => ({ name, base: `nodes/${name}/` })) };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const no = refusal(request, url, undefined);
    const [, name, path] = /^\/nodes\/([^/]+)(\/api\/.*)$/.exec(url.pathname) ?? [];
    const node = nodes.find((one) => one.name === name);
    if (no) response.writeHead(no.status, SECURITY_HEADERS).end(`${no.text}\n`);
    else if (node) void relay(request, response, `${path}${url.search}`, () => node.connect(DEFAULT_CONSOLE_PORT));
    else if (url.pathname === '/api/nodes')
      response.writeHead(200, { ...SECURITY_HEADERS, 'Content-Type': 'application/json' }).end(JSON.stringify(listed));
    else {
      const { status, headers, body } = pageFile(url.pathname);
      response.writeHead(status, headers).end(body);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
