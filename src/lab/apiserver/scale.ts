// The scale subresource: how many replicas are wanted and how many there are, the same for every kind that has replicas.
import { isObject, type Json, type KubeObject, valueAt } from './object.ts';
import type { LabelSelector } from './selectors.ts';
import { badRequest } from './status.ts';

export function scaleOf(object: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = (valueAt(object, 'spec.selector') ?? {}) as LabelSelector;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(creationTimestamp && { creationTimestamp }),
    },
    spec: { replicas: valueAt(object, 'spec.replicas') ?? 0 },
    status: { replicas: valueAt(object, 'status.replicas') ?? 0, selector: selectorText(selector) },
  };
}

/** The object with the replicas a Scale asks for. */
export function withScale(object: KubeObject, scale: Json): KubeObject {
  if (!isObject(scale)) throw badRequest('Scale must be an object');
  const replicas = valueAt(scale, 'spec.replicas') ?? 0;
  if (typeof replicas !== 'number') throw badRequest('Scale: spec.replicas must be a number');
  const version = valueAt(scale, 'metadata.resourceVersion');
  const metadata = { ...object.metadata, ...(typeof version === 'string' && version && { resourceVersion: version }) };
  return { ...object, metadata, spec: { ...(object.spec as object), replicas } };
}

export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${values.join(',')})`;
  });
  return [...labels.sort(), ...expressions].join(',');
}
