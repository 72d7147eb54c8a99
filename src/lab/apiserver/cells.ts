// Cells that take more than a line to make: pods, ports, endpoints.
import { hostPort } from '../../lib/ip.ts';
import { age } from './duration.ts';
import type { EndpointPort, EndpointSubset, Pod, ServicePort, SliceEndpoint } from './types.ts';

export function podReady({ spec, status }: Pod): string {
  const ready = (status?.containerStatuses ?? []).filter((container) => container.ready).length;
  return `${ready}/${spec.containers.length}`;
}

/** The one word that tells most: why a container waits or ended, else the phase. */
export function podStatusText({ metadata, status }: Pod): string {
  let text = status?.reason || status?.phase || 'Unknown';
  for (const { state } of status?.containerStatuses ?? []) {
    text = state?.waiting?.reason || state?.terminated?.reason || text;
  }
  if (metadata.deletionTimestamp) return 'Terminating';
  return text;
}

export function restartsText({ status }: Pod, now: Date): string {
  const containers = status?.containerStatuses ?? [];
  const restarts = containers.reduce((sum, container) => sum + container.restartCount, 0);
  const ends = containers.flatMap(({ lastState }) => lastState?.terminated?.finishedAt ?? []).sort();
  const last = ends[ends.length - 1];
  return restarts > 0 && last ? `${restarts} (${age(last, now)} ago)` : String(restarts);
}

/** `80/TCP`, `80:30080/TCP` */
export function portsText(ports: readonly ServicePort[]): string {
  const texts = ports.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`);
  return texts.join(',') || '<none>';
}

const MOST_SHOWN = 3;

function firstFew(all: readonly string[]): string {
  if (all.length === 0) return '';
  const more = all.length - MOST_SHOWN;
  return more > 0 ? `${all.slice(0, MOST_SHOWN).join(',')} + ${more} more...` : all.join(',');
}

export function endpointsText(subsets: readonly EndpointSubset[]): string {
  const all = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port))),
  );
  return firstFew(all) || '<none>';
}

export function slicePorts(ports: readonly EndpointPort[]): string {
  return firstFew(ports.map(({ port, name }) => (port === undefined ? (name ?? '*') : String(port)))) || '<unset>';
}

export function sliceEndpoints(endpoints: readonly SliceEndpoint[]): string {
  return firstFew(endpoints.flatMap(({ addresses }) => addresses)) || '<unset>';
}
