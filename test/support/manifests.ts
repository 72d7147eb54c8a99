// Short ways to write a Service and its EndpointSlices.
import type { Manifest } from './golden.ts';

type Json = Readonly<Record<string, unknown>>;

/** `shop/cart` with one port `http` 80/TCP at 10.99.0.21, over which `spec` is laid. */
export function serviceManifest(name: string, spec: Json = {}, status: Json = {}): Manifest {
  const [namespace, own] = name.split('/') as [string, string];
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: own },
    spec: { clusterIP: '10.99.0.21', ports: [{ name: 'http', port: 80 }], ...spec },
    status,
  };
}

/** A slice of `shop/cart` with port `http` 8080/TCP, over which `fields` are laid. */
export function sliceManifest(service: string, endpoints: readonly Json[], fields: Json = {}, name = ''): Manifest {
  const [namespace, own] = service.split('/') as [string, string];
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace, name: name || `${own}-1`, labels: { 'kubernetes.io/service-name': own } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints,
    ...fields,
  };
}

export function nodeManifest(name: string, zone: string): Manifest {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'topology.kubernetes.io/zone': zone } } };
}

/** `R` ready, `T` serving while terminating, `N` neither; `L` on worker-7; hints as `@zone` and `=node`. */
export function endpointManifest(number: number, text: string): Json {
  const zone = /@(\w+)/.exec(text)?.[1];
  const node = /=([\w-]+)/.exec(text)?.[1];
  const isTerminating = text.startsWith('T');
  return {
    addresses: [`10.66.0.${number}`],
    nodeName: /^\wL/.test(text) ? 'worker-7' : 'worker-8',
    conditions: {
      ready: text.startsWith('R'),
      serving: text.startsWith('R') || isTerminating,
      terminating: isTerminating,
    },
    hints: {
      ...(zone && { forZones: [{ name: zone }] }),
      ...(node && { forNodes: [{ name: node }] }),
    },
  };
}
