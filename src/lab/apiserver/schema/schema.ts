// All types of the API by name, parsed once, and which OpenAPI definition each belongs to. Decoding, strategic merge
// patches and the OpenAPI documents are all derived from these tables.
import type { Resource } from '../resources.ts';
import { CORE_TYPES } from './core.ts';
import { APPS_TYPES, AUTOSCALING_TYPES, DISCOVERY_TYPES, EVENTS_TYPES, NETWORKING_TYPES } from './groups.ts';
import { type ObjectType, parseObjectType, type TypeText } from './language.ts';
import { META_TYPES } from './meta.ts';
import { POD_TYPES } from './pod.ts';

const PACKAGES: readonly (readonly [string, Readonly<Record<string, TypeText>>])[] = [
  ['io.k8s.apimachinery.pkg.apis.meta.v1', META_TYPES],
  ['io.k8s.api.core.v1', CORE_TYPES],
  ['io.k8s.api.core.v1', POD_TYPES],
  ['io.k8s.api.apps.v1', APPS_TYPES],
  ['io.k8s.api.discovery.v1', DISCOVERY_TYPES],
  ['io.k8s.api.events.v1', EVENTS_TYPES],
  ['io.k8s.api.networking.v1', NETWORKING_TYPES],
  ['io.k8s.api.autoscaling.v1', AUTOSCALING_TYPES],
];

const TYPES = new Map<string, ObjectType>();
const DEFINITION_NAMES = new Map<string, string>();
for (const [name, types] of PACKAGES) {
  for (const [type, text] of Object.entries(types)) {
    TYPES.set(type, parseObjectType(text));
    DEFINITION_NAMES.set(type, `${name}.${type}`);
  }
}

export function typeNames(): Iterable<string> {
  return TYPES.keys();
}

export function typeNamed(name: string): ObjectType {
  const type = TYPES.get(name);
  if (!type) throw new Error(`no type is called ${name}`);
  return type;
}

export function definitionName(type: string): string {
  return DEFINITION_NAMES.get(type) ?? type;
}

/** The type of a kind; the newer Event has its own. */
export function typeOfKind({ kind, group }: Pick<Resource, 'kind' | 'group'>): string {
  return kind === 'Event' && group === 'events.k8s.io' ? 'EventV1' : kind;
}
