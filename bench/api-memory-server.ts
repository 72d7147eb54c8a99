// The other side of api-memory.ts: a process that gives n Services and n slices of two endpoints, in the size real ones have
// (with managed fields), streamed or listed. Arguments: the way, n. Tells its parent its address.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGzip } from 'node:zlib';

const [way, count] = process.argv.slice(2);
serve(way ?? 'stream', Number(count));

function serve(way: string, n: number): void {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    const make = url.pathname.endsWith('services') ? service : slice;
    const query = Object.fromEntries(url.searchParams);
    if (query.sendInitialEvents && way === 'list') {
      response.writeHead(422, { 'content-type': 'application/json' });
      response.end('{"kind":"Status","code":422,"reason":"Invalid"}');
      return;
    }
    const isZipped = (request.headers['accept-encoding'] ?? '').includes('gzip') && !query.watch;
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(isZipped ? { 'content-encoding': 'gzip' } : {}),
    });
    const out = isZipped ? createGzip({ level: 4 }) : response;
    if (isZipped) out.pipe?.(response);
    if (query.watch && !query.sendInitialEvents) return response.flushHeaders();
    void send(out, query.watch ? streamed(make, n) : listed(make, n), !query.watch);
  });
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

async function send(out: NodeJS.WritableStream, pieces: Iterable<string>, ends: boolean): Promise<void> {
  for (const piece of pieces) {
    if (!out.write(piece)) await new Promise((resolve) => out.once('drain', resolve));
  }
  if (ends) out.end();
}

function* streamed(make: (i: number) => object, n: number): Iterable<string> {
  for (let i = 0; i < n; i++) yield `${JSON.stringify({ type: 'ADDED', object: make(i) })}\n`;
  const metadata = { resourceVersion: '900000', annotations: { 'k8s.io/initial-events-end': 'true' } };
  yield `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`;
}

/** As from the server's cache: everything at once, whatever the limit. */
function* listed(make: (i: number) => object, n: number): Iterable<string> {
  yield '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"900000"},"items":[';
  for (let i = 0; i < n; i++) yield `${i === 0 ? '' : ','}${JSON.stringify(make(i))}`;
  yield ']}';
}

function service(i: number): object {
  const ip = `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(i, `service-${i}`),
    spec: {
      type: 'ClusterIP',
      clusterIP: ip,
      clusterIPs: [ip],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
      selector: { app: `service-${i}` },
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
    },
    status: { loadBalancer: {} },
  };
}

function slice(i: number): object {
  const { labels, ...rest } = metadata(i, `service-${i}-x7k2p`);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...rest, labels: { ...labels, 'kubernetes.io/service-name': `service-${i}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    endpoints: [0, 1].map((k) => ({
      addresses: [`10.${i >> 12}.${(i >> 4) & 255}.${(i & 15) * 16 + k}`],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: `node-${(i * 2 + k) % 500}`,
      zone: `zone-${k}`,
      targetRef: { kind: 'Pod', namespace: `team-${i % 40}`, name: `service-${i}-6d9f7c5b8-${k}abcd`, uid: uid(i) },
    })),
  };
}

function metadata(i: number, name: string) {
  return {
    name,
    namespace: `team-${i % 40}`,
    uid: uid(i),
    resourceVersion: String(100_000 + i),
    creationTimestamp: '2026-01-02T03:04:05Z',
    labels: { app: `service-${i}`, 'app.kubernetes.io/managed-by': 'Helm' } as Record<string, string>,
    annotations: { 'meta.helm.sh/release-name': `release-${i}`, 'meta.helm.sh/release-namespace': `team-${i % 40}` },
    managedFields: [
      {
        manager: 'helm',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} }, 'f:annotations': { '.': {} } },
          'f:spec': { 'f:internalTrafficPolicy': {}, 'f:ports': { '.': {} }, 'f:selector': {}, 'f:type': {} },
        },
      },
    ],
  };
}

function uid(i: number): string {
  return `3f2504e0-4f89-41d3-9a0c-${i.toString(16).padStart(12, '0')}`;
}
