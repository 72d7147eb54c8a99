// A cluster of a given size: Services with one port and a few endpoints each. The same numbers make the same cluster.
import type { EndpointSlice, Service } from '../../src/api/objects.ts';
import { parseEndpointSlice, parseService } from '../../src/api/parse.ts';
import { Tracker } from '../../src/track/tracker.ts';

export const IDENTITY = {
  nodeName: 'n1',
  nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' },
  allowsExternalIPs: true,
} as const;

export function trackerOf(services: number, endpoints = 2): Tracker {
  const tracker = new Tracker();
  for (let i = 0; i < services; i++) {
    tracker.setService(nameOf(i), serviceOf(i));
    tracker.setSlice(`${nameOf(i)}-1`, sliceOf(i, endpoints));
  }
  return tracker;
}

export function nameOf(service: number): string {
  return `team-${service % 40}/service-${service}`;
}

/** `version` changes the last endpoint's address. */
export function sliceOf(service: number, endpoints = 2, version = 0): EndpointSlice {
  const addresses = Array.from({ length: endpoints }, (_, i) => {
    const number = service * endpoints + i;
    const isLast = i === endpoints - 1;
    return {
      addresses: [`10.${128 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`],
      nodeName: `n${number % 50}`,
      ...(isLast && version > 0 && { addresses: [`10.64.${(version >> 8) & 255}.${version & 255}`] }),
    };
  });
  const [namespace, name] = nameOf(service).split('/');
  return parseEndpointSlice({
    metadata: {
      namespace,
      name: `${name}-1`,
      resourceVersion: `${version}`,
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: addresses,
  }).value!;
}

function serviceOf(number: number): Service {
  const [namespace, name] = nameOf(number).split('/');
  const clusterIP = `10.${96 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  const ports = [{ name: 'http', port: 80 }];
  return parseService({ metadata: { namespace, name }, spec: { clusterIP, ports } }).value!;
}
