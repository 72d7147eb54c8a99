// EndpointSlices for Endpoints that people write by hand: a Service without a selector gets its addresses from an Endpoints
// object of its name, and proxies read only slices.
import { familyOf } from '../../../lib/ip.ts';
import { sameJson } from '../object.ts';
import type { EndpointAddress, EndpointSlice, EndpointSubset, Endpoints, Service, SliceEndpoint } from '../types.ts';
import type { World } from '../world.ts';
import { type Controller, ownKey, splitKey } from './controller.ts';
import { SERVICE_NAME, SLICE_MANAGED_BY } from './labels.ts';
import { add, all, drop, find, ownerReference, replace } from './objects.ts';

const MANAGER = 'endpointslicemirroring-controller.k8s.io';
const SKIP = 'endpointslice.kubernetes.io/skip-mirror';

export function endpointMirrorController(world: World): Controller {
  return {
    watches: { services: ownKey, endpoints: ownKey },
    reconcile(key) {
      const { namespace, name } = splitKey(key);
      const held = all<EndpointSlice>(world, 'endpointslices', namespace).filter(
        ({ metadata }) => metadata.labels?.[SERVICE_NAME] === name && metadata.labels[SLICE_MANAGED_BY] === MANAGER,
      );
      const wanted = wantedSlices(world, namespace, name);
      for (const [i, slice] of wanted.entries()) writeSlice(world, held[i], slice);
      for (const slice of held.slice(wanted.length)) drop(world, 'endpointslices', slice);
    },
  };
}

function wantedSlices(world: World, namespace: string, name: string): EndpointSlice[] {
  const service = find<Service>(world, 'services', namespace, name);
  const endpoints = find<Endpoints>(world, 'endpoints', namespace, name);
  const isMirrored = service && endpoints && Object.keys(service.spec.selector ?? {}).length === 0;
  if (!isMirrored || endpoints.metadata.labels?.[SKIP] === 'true') return [];
  return (endpoints.subsets ?? []).flatMap((subset) =>
    ['IPv4', 'IPv6'].flatMap((addressType) => {
      const mirrored = sliceEndpoints(subset, addressType);
      if (mirrored.length === 0) return [];
      return {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: '',
          generateName: `${name}-`,
          namespace,
          labels: { ...endpoints.metadata.labels, [SERVICE_NAME]: name, [SLICE_MANAGED_BY]: MANAGER },
          ownerReferences: [ownerReference(endpoints)],
        },
        addressType,
        endpoints: mirrored,
        ports: (subset.ports ?? []).map(({ name: port = '', ...rest }) => ({ name: port, ...rest })),
      };
    }),
  );
}

function sliceEndpoints(
  { addresses = [], notReadyAddresses = [] }: EndpointSubset,
  addressType: string,
): SliceEndpoint[] {
  const endpoint =
    (ready: boolean) =>
    ({ ip, hostname, nodeName, targetRef }: EndpointAddress) => ({
      addresses: [ip],
      conditions: { ready },
      ...(hostname && { hostname }),
      ...(nodeName && { nodeName }),
      ...(targetRef && { targetRef }),
    });
  const ofFamily = ({ ip }: EndpointAddress) => familyOf(ip) === addressType;
  return [
    ...addresses.filter(ofFamily).map(endpoint(true)),
    ...notReadyAddresses.filter(ofFamily).map(endpoint(false)),
  ];
}

function writeSlice(world: World, held: EndpointSlice | undefined, wanted: EndpointSlice): void {
  if (held && held.addressType === wanted.addressType) {
    const isSame = sameJson(held.endpoints, wanted.endpoints) && sameJson(held.ports ?? [], wanted.ports ?? []);
    if (!isSame) replace(world, 'endpointslices', { ...wanted, metadata: { ...wanted.metadata, ...held.metadata } });
    return;
  }
  if (held) drop(world, 'endpointslices', held);
  add(world, 'endpointslices', wanted);
}
