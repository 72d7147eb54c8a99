// How the other commands talk to a running lab: HTTP on a Unix socket in its folder. Each request is a JSON document, each
// answer a stream of JSON lines, so that what takes long can be watched.
import http from 'node:http';
import type { StateFolder } from './state.ts';

export type Work = (asked: unknown) => AsyncIterable<unknown>;

export interface ControlServer {
  close(): void;
}

/** Serves each piece of work under its name. Listening is also the claim on the folder: the second to try is refused. */
export function serveControl(folder: StateFolder, work: Readonly<Record<string, Work>>): Promise<ControlServer> {
  const server = http.createServer(async (request, response) => {
    const found = work[request.url?.slice(1) ?? ''];
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/x-ndjson' });
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const asked: unknown = JSON.parse(Buffer.concat(chunks).toString() || 'null');
      for await (const line of found?.(asked) ?? []) response.write(`${JSON.stringify({ line })}\n`);
    } catch (error) {
      response.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`);
    }
    response.end();
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(folder.socket, () => resolve({ close }));
  });
}

/** Asks a running lab, and yields its lines as they come. Throws what the lab refuses. */
export async function* askLab<Line>(folder: StateFolder, name: string, asked: unknown = null): AsyncGenerator<Line> {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const request = http.request({ socketPath: folder.socket, path: `/${name}`, method: 'POST' }, resolve);
    request.on('error', reject);
    request.end(JSON.stringify(asked));
  });
  let pending = '';
  for await (const chunk of response) {
    const lines = `${pending}${(chunk as Buffer).toString()}`.split('\n');
    pending = lines.pop()!;
    for (const text of lines) {
      const said = JSON.parse(text) as { readonly line: Line } | { readonly error: string };
      if ('error' in said) throw new LabRefusal(said.error);
      yield said.line;
    }
  }
}

/** As askLab, for what is answered in one line. */
export async function askLabOnce<Line>(folder: StateFolder, name: string, asked: unknown = null): Promise<Line> {
  for await (const line of askLab<Line>(folder, name, asked)) return line;
  throw new LabRefusal(`this lab does not know ${name}; it may be of another version`);
}

/** The lab was asked for something it cannot do. */
export class LabRefusal extends Error {
  override readonly name = 'LabRefusal';
}
