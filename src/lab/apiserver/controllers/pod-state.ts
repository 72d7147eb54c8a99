// What a pod's status says.
import type { Pod } from '../types.ts';

export function isPodReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

export function isPodTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function isPodFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Counts as a replica. */
export function isPodActive(pod: Pod): boolean {
  return !isPodTerminating(pod) && !isPodFinished(pod);
}
