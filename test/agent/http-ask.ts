// One plain HTTP request, with exactly the headers given: fetch would add its own Accept header.
import { type IncomingHttpHeaders, request } from 'node:http';

export interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly host?: string;
}

export function ask(port: number, path: string, options: AskOptions = {}): Promise<Asked> {
  const { method = 'GET', headers = {}, body, host = '127.0.0.1' } = options;
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes.toString(), bytes });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
