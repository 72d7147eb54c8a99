// The Services of modes.ts: one that is asked, and many that are not.
import type { Manifest } from '../test/support/golden.ts';

export const POD = '10.244.2.11';
/** Where the pod answers questions, and where it sends bytes without being asked. */
export const PORTS = { answer: 8080, source: 9000 };
/** The Service's address; its ports are 80 and 81. Not the first and not the last, in whichever order they are looked through. */
export const ASKED = '10.99.5.0';

export function services(size: number): Manifest[] {
  const others = Array.from({ length: size - 1 }, (_, i) => `10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`);
  const ips = [...others.slice(0, size >> 1), ASKED, ...others.slice(size >> 1)];
  return ips.flatMap((clusterIP, i): Manifest[] => {
    const name = `service-${i}`;
    const ports = [
      { name: 'answer', port: 80, protocol: 'TCP' },
      ...(clusterIP === ASKED ? [{ name: 'source', port: 81, protocol: 'TCP' }] : []),
    ];
    return [
      { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'bench', name }, spec: { clusterIP, ports } },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { namespace: 'bench', name, labels: { 'kubernetes.io/service-name': name } },
        addressType: 'IPv4',
        ports: [
          { name: 'answer', port: PORTS.answer, protocol: 'TCP' },
          { name: 'source', port: PORTS.source, protocol: 'TCP' },
        ],
        endpoints: [{ addresses: [POD], conditions: { ready: true }, nodeName: 'n2' }],
      },
    ];
  });
}
