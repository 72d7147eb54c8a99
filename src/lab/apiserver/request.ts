// In: method, path, query and headers of an HTTP request. Out: what is asked of which resource, in the API's own terms.
import type { IncomingMessage } from 'node:http';
import { findResource, type Resource, type Verb } from './resources.ts';
import { ApiError, methodNotAllowed } from './status.ts';

export interface ApiRequest {
  readonly verb: Verb;
  readonly resource: Resource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
  readonly view: View;
}

/** In which form the client wants objects. */
export type View = 'object' | 'table' | 'metadata';

/** Undefined: the path is not one of resources. */
export function parseRequest(message: IncomingMessage, url: URL): ApiRequest | undefined {
  const parts = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const isCore = parts[0] === 'api';
  if (!(isCore ? parts.length > 2 : parts[0] === 'apis' && parts.length > 3)) return undefined;
  const [group, version, rest] = isCore ? ['', parts[1]!, parts.slice(2)] : [parts[1]!, parts[2]!, parts.slice(3)];

  let namespace: string | undefined;
  let [plural, name, ...below] = rest as [string, string | undefined, ...string[]];
  if (plural === 'namespaces' && name !== undefined && below[0] !== undefined && !NAMESPACE_PARTS.has(below[0])) {
    namespace = name;
    [plural, name, ...below] = below as [string, string | undefined, ...string[]];
  }
  const resource = findResource(group, version, plural);
  if (!resource || (namespace !== undefined && !resource.namespaced)) throw unknownPath(group, plural);
  const subresource = below.length > 0 ? below.join('/') : undefined;
  const { searchParams: query } = url;
  const verb = verbOf(message.method ?? 'GET', name, query);
  return { verb, resource, namespace, name, subresource, query, view: viewOf(message.headers.accept ?? '') };
}

const NAMESPACE_PARTS = new Set(['status', 'finalize']);

function verbOf(method: string, name: string | undefined, query: URLSearchParams): Verb {
  const watches = query.get('watch') === 'true' || query.get('watch') === '1';
  if (method === 'GET') return watches ? 'watch' : name === undefined ? 'list' : 'get';
  if (method === 'POST') return 'create';
  if (method === 'PUT' && name !== undefined) return 'update';
  if (method === 'PATCH' && name !== undefined) return 'patch';
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete';
  throw methodNotAllowed();
}

/** The first form the client names that we have. */
function viewOf(accept: string): View {
  for (const type of accept.split(',')) {
    const [media, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
    if (media !== 'application/json') continue;
    if (parameters.includes('as=table')) return 'table';
    if (parameters.some((parameter) => parameter.startsWith('as=partialobjectmetadata'))) return 'metadata';
    return 'object';
  }
  return 'object';
}

/** What people try first, and what this lab has instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  'pods/exec': '; `portolan lab ssh POD` opens a shell in a pod',
  'pods/attach': '; `portolan lab ssh POD` opens a shell in a pod',
  'pods/portforward': '; `portolan lab curl --from POD URL` asks from inside the network',
};

/** Kubernetes' own words come first, because clients match on them; then what this server is. */
export function unknownPath(group: string, what: string): ApiError {
  const name = group ? `${what}.${group}` : what;
  const only = `only what a service proxy's world needs (kubectl api-resources lists it)${INSTEAD[what] ?? ''}`;
  const message = `the server could not find the requested resource: this lab's API server has no ${name}, ${only}`;
  return new ApiError(404, 'NotFound', message);
}
