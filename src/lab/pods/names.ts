// Names in the cluster, as its DNS answers them. In: the objects. Out: addresses.
import type { ApiServer } from '../apiserver/server.ts';
import type { EndpointSlice, Node, Service } from '../apiserver/types.ts';

/** The addresses of `summary`, `summary.yaobank`, … as a pod of a namespace may call it, of a node by its name, or of what
 *  is an address already. */
export function resolveName(server: ApiServer, name: string, namespace: string): readonly string[] {
  const [service = '', inNamespace = namespace] = name
    .replace(/\.$/, '')
    .replace(/(\.svc)?(\.cluster\.local)?$/, '')
    .split('.');
  const found = serviceAddresses(server, inNamespace, service);
  if (found) return found;
  const node = server.get('nodes', undefined, name) as Node | undefined;
  return (node?.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
}

/** What DNS answers to a full name; undefined if there is no such name. */
export function resolveFullName(server: ApiServer, name: string): readonly string[] | undefined {
  const parts = /^([^.]+)\.([^.]+)\.svc\.cluster\.local\.?$/i.exec(name.toLowerCase());
  return parts ? serviceAddresses(server, parts[2]!, parts[1]!) : undefined;
}

/** Undefined if there is no such Service. */
function serviceAddresses(server: ApiServer, namespace: string, name: string): readonly string[] | undefined {
  const service = server.get('services', namespace, name) as Service | undefined;
  if (!service) return undefined;
  const ips = service.spec.clusterIPs ?? [];
  return ips[0] === 'None' ? readyAddresses(server, namespace, name) : ips;
}

/** A Service without an address of its own stands for its pods. */
function readyAddresses(server: ApiServer, namespace: string, name: string): readonly string[] {
  const slices = server.list('endpointslices', { namespace, labelSelector: `kubernetes.io/service-name=${name}` });
  return (slices as EndpointSlice[])
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses);
}
