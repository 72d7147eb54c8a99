// In: files, folders or standard input with Kubernetes objects in YAML or JSON.  Out: a Tracker that holds them, as an agent on
// one of the nodes would, and a problem for everything that could not be used. The offline commands begin here.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Node, Problem } from '../api/objects.ts';
import {
  type Parsed,
  parseEndpointSlice,
  parseEndpoints,
  parseNode,
  parseService,
  parseServiceCIDR,
} from '../api/parse.ts';
import { parseIp } from '../lib/ip.ts';
import { Tracker } from '../track/tracker.ts';
import { UsageError } from './usage-error.ts';

export interface OfflineCluster {
  readonly tracker: Tracker;
  readonly nodes: readonly Node[];
  /** Pods are no objects of a proxy; they only lend their names to addresses. */
  readonly pods: readonly PodAddresses[];
  readonly problems: readonly Problem[];
  /** How many objects of each kind were read. */
  readonly counts: Readonly<Record<string, number>>;
}

export type Manifest = { readonly kind: string; readonly raw: unknown };

export interface PodAddresses {
  readonly namespace: string;
  readonly name: string;
  readonly ips: readonly string[];
  readonly nodeName: string | undefined;
}

export async function readCluster(paths: readonly string[], nodeName: string | undefined): Promise<OfflineCluster> {
  return clusterOf((await Promise.all(paths.map(readPath))).flat(), nodeName);
}

/** `nodeName`: the Node whose zone counts; undefined: the only one, if there is just one. */
export function clusterOf(manifests: readonly Manifest[], nodeName: string | undefined): OfflineCluster {
  const tracker = new Tracker();
  const problems: Problem[] = [];
  const take = <T>({ value, problems: found }: Parsed<T>): T | undefined => {
    problems.push(...found);
    return value;
  };
  const ofKind = (kind: string): readonly unknown[] =>
    manifests.filter((manifest) => manifest.kind === kind).map(({ raw }) => raw);

  for (const raw of ofKind('Service')) {
    const service = take(parseService(raw));
    if (service) tracker.setService(`${service.namespace}/${service.name}`, service);
  }
  const sliced = new Set<string>();
  for (const raw of ofKind('EndpointSlice')) {
    const slice = take(parseEndpointSlice(raw));
    if (!slice) continue;
    tracker.setSlice(`${slice.namespace}/${slice.name}`, slice);
    sliced.add(`${slice.namespace}/${slice.service}`);
  }
  // A cluster mirrors Endpoints into slices; where both were dumped, the slices say more.
  for (const slice of ofKind('Endpoints').flatMap((raw) => take(parseEndpoints(raw)) ?? [])) {
    if (!sliced.has(`${slice.namespace}/${slice.service}`)) tracker.setSlice(`${slice.namespace}/${slice.name}`, slice);
  }
  for (const raw of ofKind('ServiceCIDR')) {
    const serviceCIDR = take(parseServiceCIDR(raw));
    if (serviceCIDR) tracker.setServiceCIDR(serviceCIDR.name, serviceCIDR);
  }
  const nodes = ofKind('Node').flatMap((raw) => take(parseNode(raw)) ?? []);
  const node = nodeName === undefined && nodes.length === 1 ? nodes[0] : nodes.find(({ name }) => name === nodeName);
  if (node) tracker.setNode(node);

  return { tracker, nodes, pods: ofKind('Pod').map(podAddresses), problems, counts: countBy(manifests) };
}

function podAddresses(raw: unknown): PodAddresses {
  const { metadata, spec, status } = raw as {
    metadata?: { namespace?: string; name?: string };
    spec?: { nodeName?: string };
    status?: { podIP?: string; podIPs?: readonly { ip?: string }[] };
  };
  const texts = status?.podIPs?.map(({ ip }) => ip) ?? [status?.podIP];
  return {
    namespace: metadata?.namespace ?? 'default',
    name: metadata?.name ?? '',
    ips: texts.flatMap((text) => parseIp(text ?? '') ?? []),
    nodeName: spec?.nodeName,
  };
}

function countBy(manifests: readonly Manifest[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(manifests, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]));
}

async function readPath(path: string): Promise<readonly Manifest[]> {
  if (path === '-') return parseManifests(readFileSync(0, 'utf8'), 'standard input');
  if (!statSync(path, { throwIfNoEntry: false })) throw new UsageError(`-f ${path}: no such file or folder`);
  if (!statSync(path).isDirectory()) return parseManifests(readFileSync(path, 'utf8'), path);
  const files = readdirSync(path)
    .filter((file) => /\.(ya?ml|json)$/.test(file))
    .sort();
  if (files.length === 0) throw new UsageError(`-f ${path}: no .yaml, .yml or .json file in this folder`);
  return (await Promise.all(files.map((file) => readPath(join(path, file))))).flat();
}

async function parseManifests(text: string, source: string): Promise<readonly Manifest[]> {
  const json = text.trimStart().startsWith('{') ? parseJson(text) : undefined;
  if (json !== undefined) return manifestsIn(json);
  const { parseAllDocuments } = await import('yaml'); // 3 MB and 30 ms that JSON and the agent's watches do without
  return parseAllDocuments(text, { maxAliasCount: 10000 } as object).flatMap((document) => {
    const error = 'errors' in document ? document.errors[0] : undefined;
    if (error) throw new UsageError(`${source}: not YAML: ${error.message}`);
    return 'toJS' in document ? manifestsIn(document.toJS()) : [];
  });
}

/** Undefined where it is not one JSON value; YAML, which takes in JSON, will say what is wrong, or that it was several. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One object, or those of a list (`kind: List`, or a ServiceList whose items leave out their kind). */
function manifestsIn(value: unknown): readonly Manifest[] {
  if (Array.isArray(value)) return value.flatMap(manifestsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  if (typeof kind !== 'string') return [];
  if (!kind.endsWith('List') || !Array.isArray(items)) return [{ kind, raw: value }];
  const itemKind = kind.slice(0, -'List'.length);
  return items.flatMap((item) =>
    itemKind === '' ? manifestsIn(item) : manifestsIn({ kind: itemKind, ...(item as object) }),
  );
}
