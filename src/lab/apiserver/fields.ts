// The fields that field selectors may name. As on a cluster, only a few of each kind can be asked for.

import type { Resource } from './resources.ts';
import type { SelectorText } from './selectors.ts';
import { badRequest } from './status.ts';

const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  services: ['spec.clusterIP', 'spec.type'],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  replicasets: ['status.replicas'],
  events: [...INVOLVED.map((field) => `involvedObject.${field}`), 'reason', 'reportingComponent', 'source', 'type'],
};

/** Booleans and numbers that are absent when they are zero; a selector sees the zero. */
const ZEROS: Readonly<Record<string, string>> = {
  'spec.unschedulable': 'false',
  'spec.hostNetwork': 'false',
  'status.replicas': '0',
};

export function zeroOf(field: string): string {
  return ZEROS[field] ?? '';
}

/** Throws for a field this kind cannot be selected by. `terms` are the selector's field names. */
export function requireKnownFields(resource: Resource, terms: readonly string[]): void {
  const known = ['metadata.name', 'metadata.namespace', ...(FIELDS[resource.storage] ?? [])];
  for (const field of terms) {
    if (!known.includes(field)) throw badRequest(`field label not supported: ${field}`);
  }
}

/** The newer event API calls the same fields by other names. */
const NEW_EVENT_NAMES: readonly (readonly [RegExp, string])[] = [
  [/\bregarding\./g, 'involvedObject.'],
  [/\breportingController\b/g, 'reportingComponent'],
];

export function storedSelector(resource: Resource, text: SelectorText): SelectorText {
  if (resource.group !== 'events.k8s.io') return text;
  const field = NEW_EVENT_NAMES.reduce((sofar, [from, to]) => sofar.replace(from, to), text.field);
  return { label: text.label, field };
}
