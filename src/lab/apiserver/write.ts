// create, update, patch, delete and deletecollection as HTTP asks for them: bodies in, JSON text and a code out.
import { decodeObject, type FieldValidation, parseBody } from './decode.ts';
import { type DeleteOptions, remove } from './deletion.ts';
import { storedForm } from './event-view.ts';
import { isObject, type Json, type KubeObject, objectKey } from './object.ts';
import { applyPatch, requirePatchType } from './patch.ts';
import { matching, renderOptions, requireStored } from './read.ts';
import { create, update, type WriteOptions } from './registry.ts';
import { renderList, renderOne } from './render.ts';
import type { ApiRequest } from './request.ts';
import { qualifiedName } from './resources.ts';
import { scaleOf, withScale } from './scale.ts';
import { typeOfKind } from './schema/schema.ts';
import { badRequest, methodNotAllowed, success } from './status.ts';
import type { Stored } from './store.ts';
import type { World } from './world.ts';

export interface Body {
  readonly contentType: string;
  readonly bytes: Buffer;
}

export interface Answer {
  readonly code: number;
  readonly text: string;
  /** Warnings kubectl prints above its output. */
  readonly warnings: readonly string[];
  /** JSON unless said. */
  readonly contentType?: string;
}

export function writeCreate(world: World, request: ApiRequest, body: Body): Answer {
  const { resource, namespace, name } = request;
  if (name !== undefined) throw methodNotAllowed();
  const { object, warnings } = decodeObject(resource, parseBody(body), fieldValidation(request));
  const placed = inNamespace(request, storedForm(resource, object), namespace);
  return answer(world, request, create(world, resource, placed, writeOptions(request)), 201, warnings);
}

export function writeUpdate(world: World, request: ApiRequest, body: Body): Answer {
  const { resource, namespace, name } = request;
  if (request.subresource === 'scale') return writeScale(world, request, parseBody(body));
  const { object, warnings } = decodeObject(resource, parseBody(body), fieldValidation(request));
  const placed = inNamespace(request, storedForm(resource, object), namespace);
  if (placed.metadata.name !== name) {
    throw badRequest(`the name of the object (${placed.metadata.name}) does not match the name on the URL (${name})`);
  }
  return answer(world, request, update(world, resource, placed, writeOptions(request)), 200, warnings);
}

export function writePatch(world: World, request: ApiRequest, body: Body): Answer {
  const { resource, query } = request;
  requirePatchType(body);
  const stored = requireStored(world, request);
  if (request.subresource === 'scale') {
    const patched = applyPatch('Scale', scaleOf(stored.object), body);
    return writeScale(world, request, patched);
  }
  const current = JSON.parse(renderOne(stored, { ...renderOptions(world, request), view: 'object' })) as KubeObject;
  const patched = applyPatch(typeOfKind(resource), current, body);
  const strictness = query.get('fieldValidation') as FieldValidation | null;
  const { object, warnings } = decodeObject(resource, patched, strictness ?? 'Warn');
  const after = storedForm(resource, object);
  return answer(world, request, update(world, resource, after, writeOptions(request)), 200, warnings);
}

export function writeDelete(world: World, request: ApiRequest, body: Body): Answer {
  const { resource, namespace, name } = request;
  const { stored, gone } = remove(world, resource, namespace, name!, deleteOptions(request, body));
  if (!gone || resource.plural === 'pods') return answer(world, request, stored, 200, []);
  const { group, plural } = resource;
  const details = { name: name!, ...(group && { group }), kind: plural, uid: stored.object.metadata.uid };
  return { code: 200, text: JSON.stringify(success(details)), warnings: [] };
}

export function writeDeleteCollection(world: World, request: ApiRequest, body: Body): Answer {
  const options = deleteOptions(request, body);
  const chosen = matching(world.store.list(request.resource.storage), request);
  for (const { object } of chosen) {
    remove(world, request.resource, object.metadata.namespace, object.metadata.name, options);
  }
  const meta = { resourceVersion: String(world.store.version) };
  return { code: 200, text: renderList(chosen, meta, renderOptions(world, request)), warnings: [] };
}

function writeScale(world: World, request: ApiRequest, scale: Json): Answer {
  const { object } = requireStored(world, request);
  const after = update(world, request.resource, withScale(object, scale), writeOptions(request));
  return { code: 200, text: JSON.stringify(scaleOf(after.object)), warnings: [] };
}

function answer(world: World, request: ApiRequest, stored: Stored, code: number, warnings: readonly string[]): Answer {
  return { code, text: renderOne(stored, renderOptions(world, request)), warnings };
}

/** The namespace of the path is the object's; an object that names another one is a mistake. */
function inNamespace(request: ApiRequest, object: KubeObject, namespace: string | undefined): KubeObject {
  if (!request.resource.namespaced) return object;
  if (namespace === undefined) throw methodNotAllowed(`${qualifiedName(request.resource)} are created in a namespace`);
  const named = object.metadata.namespace;
  if (named && named !== namespace) {
    const key = objectKey(named, object.metadata.name);
    throw badRequest(
      `the namespace of the provided object does not match the namespace sent on the request (${key} in ${namespace})`,
    );
  }
  return { ...object, metadata: { ...object.metadata, namespace } };
}

function fieldValidation({ query }: ApiRequest): FieldValidation {
  return (query.get('fieldValidation') as FieldValidation | null) ?? 'Warn';
}

function writeOptions({ query, subresource }: ApiRequest): WriteOptions {
  return { dryRun: query.getAll('dryRun').includes('All'), subresource: subresource as WriteOptions['subresource'] };
}

function deleteOptions({ query }: ApiRequest, body: Body): DeleteOptions {
  const options = body.bytes.length > 0 ? parseBody(body) : {};
  if (!isObject(options)) throw badRequest('DeleteOptions must be an object');
  const preconditions = isObject(options.preconditions) ? options.preconditions : {};
  const asked = options.gracePeriodSeconds ?? query.get('gracePeriodSeconds') ?? undefined;
  const dryRun = Array.isArray(options.dryRun) ? options.dryRun : query.getAll('dryRun');
  return {
    graceSeconds: asked === undefined ? undefined : Number(asked),
    dryRun: dryRun.includes('All'),
    uid: typeof preconditions.uid === 'string' ? preconditions.uid : undefined,
    resourceVersion: typeof preconditions.resourceVersion === 'string' ? preconditions.resourceVersion : undefined,
    propagation: String(options.propagationPolicy ?? query.get('propagationPolicy') ?? 'Background'),
  };
}
