// Gives a Service its families, cluster IPs, node ports and health check port, and takes back what it no longer uses.
import { type Family, familyOf, otherFamily, parseIp } from '../../lib/ip.ts';
import { isInCidrs } from './allocations.ts';
import { copy } from './object.ts';
import type { FieldError } from './status.ts';
import type { Service, ServiceSpec } from './types.ts';
import { serviceCidrs, type World } from './world.ts';

export function allocateService(service: Service, before: Service | undefined, world: World): readonly FieldError[] {
  const errors: FieldError[] = [];
  const { spec } = service;
  if (before) keepHeldValues(spec, before.spec);
  if (spec.type === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const) delete spec[field];
    for (const port of spec.ports ?? []) delete port.nodePort;
    delete spec.healthCheckNodePort;
    return errors;
  }
  const owner = `${service.metadata.namespace}/${service.metadata.name}`;
  chooseFamilies(spec, world, errors);
  if (errors.length === 0) giveClusterIps(spec, owner, world, errors);
  giveNodePorts(spec, owner, world, errors);
  return errors;
}

/** An update that does not mention what was allocated keeps it, as `kubectl apply` and `replace` rely on. */
function keepHeldValues(spec: ServiceSpec, held: ServiceSpec): void {
  if (spec.type === 'ExternalName' || held.type === 'ExternalName') return;
  spec.clusterIP ||= held.clusterIP ?? '';
  if (spec.clusterIP === held.clusterIP) spec.clusterIPs ??= copy(held.clusterIPs ?? []);
  spec.ipFamilyPolicy ??= held.ipFamilyPolicy ?? 'SingleStack';
  spec.ipFamilies ??= copy(held.ipFamilies ?? []);
  if (spec.ipFamilyPolicy === 'SingleStack') {
    spec.ipFamilies = spec.ipFamilies.slice(0, 1);
    spec.clusterIPs = (spec.clusterIPs ?? []).slice(0, 1);
  }
  if (usesHealthCheckPort(spec) && held.healthCheckNodePort) spec.healthCheckNodePort ??= held.healthCheckNodePort;
  if (!usesNodePorts(spec)) return;
  for (const port of spec.ports ?? []) {
    const same = held.ports?.find((p) => p.port === port.port && p.protocol === port.protocol && p.name === port.name);
    const isTaken = spec.ports?.some(
      (p) => p !== port && p.nodePort === same?.nodePort && p.protocol === port.protocol,
    );
    if (same?.nodePort && !isTaken) port.nodePort ||= same.nodePort;
  }
}

function chooseFamilies(spec: ServiceSpec, { facts }: World, errors: FieldError[]): void {
  const given = (spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? '']).filter(
    (ip) => ip && ip !== 'None',
  );
  const families = given.flatMap((ip) => parseIp(ip) ?? []).map((ip): Family => familyOf(ip));
  const chosen = (spec.ipFamilies?.length ? [...spec.ipFamilies] : families.length > 0 ? families : []) as Family[];
  const isHeadlessWithoutSelector = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??=
    chosen.length === 2 ? 'RequireDualStack' : isHeadlessWithoutSelector ? 'RequireDualStack' : 'SingleStack';
  if (chosen.length === 0) chosen.push(facts.families[0]!);
  const second = otherFamily(chosen[0]!);
  const hasSecond = facts.families.includes(second) || isHeadlessWithoutSelector;
  if (spec.ipFamilyPolicy === 'RequireDualStack' && !hasSecond) {
    const message = `Invalid value: ["${chosen[0]}"]: when ipFamilyPolicy is RequireDualStack, this cluster must have both families; it is not configured for dual-stack services`;
    errors.push({ field: 'spec.ipFamilyPolicy', reason: 'FieldValueInvalid', message });
  }
  if (spec.ipFamilyPolicy !== 'SingleStack' && chosen.length === 1 && hasSecond) chosen.push(second);
  for (const [i, family] of chosen.entries()) {
    if (facts.families.includes(family) || isHeadlessWithoutSelector) continue;
    const message = `Invalid value: "${family}": not configured on this cluster`;
    errors.push({ field: `spec.ipFamilies[${i}]`, reason: 'FieldValueInvalid', message });
  }
  spec.ipFamilies = chosen;
}

function giveClusterIps(spec: ServiceSpec, owner: string, world: World, errors: FieldError[]): void {
  if (spec.clusterIP === 'None') {
    spec.clusterIPs = ['None'];
    return;
  }
  const cidrs = serviceCidrs(world);
  const ips = spec.clusterIPs?.length ? [...spec.clusterIPs] : spec.clusterIP ? [spec.clusterIP] : [];
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    const wanted = ips[i];
    const field = `spec.clusterIPs[${i}]`;
    if (!wanted) {
      const free = firstFree(cidrs, family as Family, world);
      if (free) ips[i] = free;
      else errors.push(invalidIp(field, '', 'failed to allocate IP: range is full'));
      continue;
    }
    const holder = world.allocations.clusterIpOwner(wanted);
    if (!isInCidrs(cidrs, wanted)) {
      const ranges = cidrs.join(', ');
      errors.push(
        invalidIp(
          field,
          wanted,
          `failed to allocate IP ${wanted}: the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${ranges}`,
        ),
      );
    } else if (holder && holder !== owner) {
      errors.push(invalidIp(field, wanted, `failed to allocate IP ${wanted}: provided IP is already allocated`));
    }
  }
  spec.clusterIPs = ips;
  spec.clusterIP = ips[0] ?? '';
}

function firstFree(cidrs: readonly string[], family: Family, { allocations }: World): string | undefined {
  for (const cidr of cidrs) {
    const free = familyOf(cidr) === family ? allocations.freeClusterIp(cidr) : undefined;
    if (free) return free;
  }
  return undefined;
}

function invalidIp(field: string, value: string, why: string): FieldError {
  return {
    field,
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(value ? [value] : [])}: ${why}`,
  };
}

function giveNodePorts(spec: ServiceSpec, owner: string, { facts, allocations }: World, errors: FieldError[]): void {
  const { first, last } = facts.nodePortRange;
  const mine = new Set<number>();
  const wants = usesNodePorts(spec);
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!usesAnyNodePort(spec)) delete port.nodePort;
    if (!port.nodePort) continue;
    mine.add(port.nodePort);
    const field = `spec.ports[${i}].nodePort`;
    const holder = allocations.nodePortOwner(port.nodePort, port.protocol ?? 'TCP');
    if (port.nodePort < first || port.nodePort > last) {
      const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
      errors.push({ field, reason: 'FieldValueInvalid', message: `Invalid value: ${port.nodePort}: ${why}` });
    } else if (holder && holder !== owner) {
      const message = `Invalid value: ${port.nodePort}: provided port is already allocated`;
      errors.push({ field, reason: 'FieldValueInvalid', message });
    }
  }
  for (const port of wants ? (spec.ports ?? []) : []) {
    if (port.nodePort) continue;
    // One number serves a port that is offered for several protocols.
    const twin = spec.ports?.find(
      (p) => p !== port && p.nodePort && p.port === port.port && p.protocol !== port.protocol,
    );
    const free = twin?.nodePort ?? allocations.freeNodePort(facts.nodePortRange, mine);
    if (free === undefined) {
      errors.push({
        field: 'spec.ports',
        reason: 'FieldValueInvalid',
        message: 'Invalid value: 0: failed to allocate a nodePort: range is full',
      });
      continue;
    }
    port.nodePort = free;
    mine.add(free);
  }
  giveHealthCheckPort(spec, owner, { facts, allocations }, mine, errors);
}

function giveHealthCheckPort(
  spec: ServiceSpec,
  owner: string,
  { facts, allocations }: Pick<World, 'facts' | 'allocations'>,
  mine: ReadonlySet<number>,
  errors: FieldError[],
): void {
  if (!usesHealthCheckPort(spec)) {
    delete spec.healthCheckNodePort;
    return;
  }
  if (!spec.healthCheckNodePort) {
    const free = allocations.freeNodePort(facts.nodePortRange, mine);
    if (free !== undefined) spec.healthCheckNodePort = free;
    return;
  }
  const holder = allocations.nodePortOwner(spec.healthCheckNodePort, 'TCP');
  if (!holder || holder === owner) return;
  const message = `Invalid value: ${spec.healthCheckNodePort}: provided port is already allocated`;
  errors.push({ field: 'spec.healthCheckNodePort', reason: 'FieldValueInvalid', message });
}

/** May hold node ports. */
function usesAnyNodePort(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

/** Gets a node port for every port that has none. */
function usesNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

function usesHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}
