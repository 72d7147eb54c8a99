// Types that every kind uses.
import type { TypeText } from './language.ts';

export const META_TYPES: Readonly<Record<string, TypeText>> = {
  ObjectMeta: {
    name: 'string — The name, unique within a namespace for one kind.',
    generateName: 'string — A prefix to which the server adds five letters if there is no name.',
    namespace: 'string — The namespace the name is unique in.',
    selfLink: 'string',
    uid: 'string — Unique in time and space; the server sets it.',
    resourceVersion: 'string — Changes with every write; an update that carries it fails if somebody else was faster.',
    generation: 'int64 — Counts the changes of the wanted state.',
    creationTimestamp: 'time — When it was created, in UTC.',
    deletionTimestamp: 'time — When it will be removed; set by the server when somebody deletes it.',
    deletionGracePeriodSeconds: 'int64 — How long it may still take to end.',
    labels: 'map string — Keys and values to select objects by.',
    annotations: 'map string — Keys and values for tools; nothing selects by them.',
    ownerReferences: '[]OwnerReference by uid — What it depends on: it goes when all of them are gone.',
    finalizers: '[]string as set — As long as there are any, a deleted object stays.',
    managedFields: '[]any',
  },
  OwnerReference: {
    apiVersion: 'string!',
    kind: 'string!',
    name: 'string!',
    uid: 'string!',
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  },
  LabelSelector: {
    matchLabels: 'map string — Labels that all must be there.',
    matchExpressions: '[]LabelSelectorRequirement — Requirements that all must hold.',
  },
  LabelSelectorRequirement: { key: 'string!', operator: 'string!', values: '[]string' },
  Condition: {
    type: 'string!',
    status: 'string!',
    observedGeneration: 'int64',
    lastTransitionTime: 'time',
    lastUpdateTime: 'time',
    lastProbeTime: 'time',
    lastHeartbeatTime: 'time',
    reason: 'string',
    message: 'string',
  },
};
