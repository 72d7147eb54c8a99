// Events that controllers record, so that `kubectl describe` and `kubectl events` tell what happened.
import { type KubeObject, timestamp } from '../object.ts';
import { apiVersionOf, resourceNamed, resourceOfKind } from '../resources.ts';
import type { Event } from '../types.ts';
import type { World } from '../world.ts';
import { add, all, drop, replace } from './objects.ts';

/** The oldest ones go when there are more; a cluster forgets them after an hour. */
const MOST_EVENTS = 2000;

export function recordEvent(
  world: World,
  about: KubeObject,
  component: string,
  reason: string,
  message: string,
  type: 'Normal' | 'Warning' = 'Normal',
): void {
  const namespace = about.metadata.namespace ?? 'default';
  const now = timestamp(world.now());
  const same = all<Event>(world, 'events', namespace).find(
    (event) => event.reason === reason && event.message === message && event.involvedObject.uid === about.metadata.uid,
  );
  if (same) {
    replace(world, 'events', { ...same, count: (same.count ?? 1) + 1, lastTimestamp: now });
    return;
  }
  if (world.store.get('namespaces', undefined, namespace) === undefined) return;
  const { name, uid, resourceVersion } = about.metadata;
  const resource = resourceOfKind(about.apiVersion, about.kind);
  add<Event>(world, 'events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${eventSuffix(world)}`, namespace },
    involvedObject: {
      kind: about.kind,
      ...(about.metadata.namespace && { namespace: about.metadata.namespace }),
      name,
      ...(uid && { uid }),
      apiVersion: resource ? apiVersionOf(resource) : about.apiVersion,
      ...(resourceVersion && { resourceVersion }),
    },
    reason,
    message,
    source: { component },
    firstTimestamp: now,
    lastTimestamp: now,
    eventTime: null,
    count: 1,
    type,
    reportingComponent: component,
    reportingInstance: '',
  });
  const held = world.store.list(resourceNamed('events').storage);
  if (held.length <= MOST_EVENTS) return;
  const oldest = held.reduce((a, b) => (a.version < b.version ? a : b));
  drop(world, 'events', oldest.object);
}

function eventSuffix(world: World): string {
  return (BigInt(world.now().getTime()) * 1_000_000n + BigInt(world.store.version)).toString(16);
}
