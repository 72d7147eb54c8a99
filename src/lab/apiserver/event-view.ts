// Events have two APIs over one store: core/v1, whose form is stored, and events.k8s.io/v1, which calls the same things by
// other names. In: an object of one. Out: the object of the other.
import type { JsonObject, KubeObject } from './object.ts';
import type { Resource } from './resources.ts';
import type { Stored } from './store.ts';

/** [core/v1, events.k8s.io/v1] */
const NAMES = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
] as const;

export function viewedBody(resource: Resource, stored: Stored): string {
  if (resource.group !== 'events.k8s.io') return stored.body;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = stored.object;
  return JSON.stringify(renamed(rest, (core) => NAMES.find(([name]) => name === core)?.[1]));
}

/** What a client wrote, in the form that is stored. */
export function storedForm(resource: Resource, object: KubeObject): KubeObject {
  if (resource.group !== 'events.k8s.io') return object;
  const event = renamed(object, (name) => NAMES.find(([, newer]) => newer === name)?.[0]);
  return { ...event, apiVersion: 'v1' } as KubeObject;
}

function renamed(object: JsonObject, nameFor: (name: string) => string | undefined): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [nameFor(name) ?? name, value]));
}
