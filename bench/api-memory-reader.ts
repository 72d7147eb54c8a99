// The measured side of api-memory.ts: reads Services and EndpointSlices as the agent does, and tells its parent the figures.
// Argument: the server's address. Everything is imported late, so that a bare process can be measured first.
import { readFileSync } from 'node:fs';

export interface Figures {
  readonly bareMb: number;
  readonly importedMb: number;
  readonly peakMb: number;
  readonly heldMb: number;
  readonly heapMb: number;
  readonly seconds: number;
}

void readAll(process.argv[2] ?? '');

async function readAll(server: string): Promise<void> {
  const bareMb = residentMb('VmRSS');
  const { ANONYMOUS } = await import('../src/api/client/config.ts');
  const { ApiClient } = await import('../src/api/client/client.ts');
  const { Reflector } = await import('../src/api/watch.ts');
  const { WatchStore } = await import('../test/support/watch-store.ts');
  const { parseService, parseEndpointSlice } = await import('../src/api/parse.ts');
  const importedMb = residentMb('VmRSS');

  const config = {
    server,
    tls: { ca: undefined, serverName: '', insecureSkipVerify: false },
    proxyUrl: '',
    user: ANONYMOUS,
  };
  const client = new ApiClient(config, { userAgent: 'bench', qps: -1, burst: 1, env: {} });
  const abort = new AbortController();
  const startedAt = performance.now();
  const synced = [
    { resource: 'services', path: '/api/v1/services', parse: (raw: unknown) => parseService(raw).value },
    {
      resource: 'endpointslices',
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      parse: (raw: unknown) => parseEndpointSlice(raw).value,
    },
  ].map((target) => {
    return new Promise<object>((resolve) => {
      const store: InstanceType<typeof WatchStore<object>> = new WatchStore<object>(
        (a, b) => a === b,
        () => {},
        () => resolve(store),
      );
      const reflector = new Reflector<object>({ client, target, handler: store });
      void reflector.run(abort.signal);
    });
  });
  const stores = await Promise.all(synced);
  const seconds = (performance.now() - startedAt) / 1000;
  const peakMb = residentMb('VmHWM');
  (globalThis as { gc?: () => void }).gc?.();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const heapMb = Math.round(process.memoryUsage().heapUsed / 1e6);
  const figures: Figures = {
    bareMb,
    importedMb,
    peakMb,
    heldMb: residentMb('VmRSS'),
    heapMb,
    seconds: Math.round(seconds * 100) / 100,
  };
  abort.abort();
  client.close();
  if (stores.length !== 2) throw new Error('both stores must be held until here');
  process.send?.(figures);
  process.disconnect?.();
}

function residentMb(field: 'VmRSS' | 'VmHWM'): number {
  const line = readFileSync('/proc/self/status', 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith(field));
  return Math.round(Number(line?.split(/\s+/)[1]) / 1000);
}
