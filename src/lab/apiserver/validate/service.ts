// What must hold of a Service, apart from what its addresses and ports need (service-allocation.ts).
import { isLoopback, parseCidr, parseIp } from '../../../lib/ip.ts';
import { isExternallyAccessible } from '../defaults/service.ts';
import { sameJson } from '../object.ts';
import type { FieldError } from '../status.ts';
import type { Service, ServicePort, ServiceSpec } from '../types.ts';
import { duplicate, forbiddenField, IMMUTABLE, invalidValue, portNumber, required, supported } from './field.ts';
import { checkLabels } from './metadata.ts';
import { dnsLabel, dnsSubdomain, portName } from './names.ts';

export function checkService(service: Service, before: Service | undefined): FieldError[] {
  const { spec } = service;
  return [
    ...checkPorts(spec),
    ...checkLabels(spec.selector, 'spec.selector'),
    ...checkChoices(spec),
    ...checkClusterIps(spec),
    ...checkExternal(spec),
    ...checkLoadBalancer(spec),
    ...checkAffinity(spec),
    ...(before ? checkChange(spec, before.spec) : []),
  ];
}

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

function checkChoices(spec: ServiceSpec): FieldError[] {
  const families = spec.ipFamilies ?? [];
  return [
    ...supported('spec.type', spec.type, TYPES),
    ...supported('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']),
    ...supported('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']),
    ...supported('spec.trafficDistribution', spec.trafficDistribution, [
      'PreferClose',
      'PreferSameZone',
      'PreferSameNode',
    ]),
    ...supported('spec.ipFamilyPolicy', spec.ipFamilyPolicy, ['SingleStack', 'PreferDualStack', 'RequireDualStack']),
    ...families.flatMap((family, i) => supported(`spec.ipFamilies[${i}]`, family, ['IPv4', 'IPv6'])),
    ...(families.length === 2 && families[0] === families[1] ? [duplicate('spec.ipFamilies[1]', families[1]!)] : []),
  ];
}

function checkPorts(spec: ServiceSpec): FieldError[] {
  const ports = spec.ports ?? [];
  const isHeadless = spec.clusterIP === 'None';
  if (ports.length === 0) return isHeadless || spec.type === 'ExternalName' ? [] : [required('spec.ports')];
  const errors: FieldError[] = [];
  for (const [i, port] of ports.entries()) {
    const field = `spec.ports[${i}]`;
    errors.push(...checkPort(port, field, ports.length > 1));
    if (port.nodePort && spec.type === 'ClusterIP') {
      errors.push(forbiddenField(`${field}.nodePort`, "may not be used when `type` is 'ClusterIP'"));
    }
    const earlier = ports.slice(0, i);
    if (port.name && earlier.some(({ name }) => name === port.name)) errors.push(duplicate(`${field}.name`, port.name));
    const same = earlier.filter(({ protocol }) => protocol === port.protocol);
    if (same.some((other) => other.port === port.port)) {
      errors.push(duplicate(field, { ...port }));
    }
    if (port.nodePort && same.some(({ nodePort }) => nodePort === port.nodePort)) {
      errors.push(duplicate(`${field}.nodePort`, port.nodePort));
    }
  }
  return errors;
}

function checkPort({ name, port, protocol, targetPort }: ServicePort, field: string, needsName: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (needsName && !name) errors.push(required(`${field}.name`));
  else if (name) errors.push(...dnsLabel(name).map((why) => invalidValue(`${field}.name`, name, why)));
  errors.push(...portNumber(`${field}.port`, port ?? 0));
  errors.push(...supported(`${field}.protocol`, protocol, PROTOCOLS));
  if (typeof targetPort === 'number') errors.push(...portNumber(`${field}.targetPort`, targetPort));
  else if (targetPort !== undefined) {
    errors.push(...portName(targetPort).map((why) => invalidValue(`${field}.targetPort`, targetPort, why)));
  }
  return errors;
}

const NOT_AN_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

function checkClusterIps(spec: ServiceSpec): FieldError[] {
  const ips = spec.clusterIPs?.length ? spec.clusterIPs : spec.clusterIP ? [spec.clusterIP] : [];
  if (spec.type === 'ExternalName') {
    return ips.length > 0 ? [forbiddenField('spec.clusterIPs', "may not be set when `type` is 'ExternalName'")] : [];
  }
  const errors: FieldError[] = [];
  if (spec.clusterIP && spec.clusterIPs?.length && spec.clusterIPs[0] !== spec.clusterIP) {
    errors.push(invalidValue('spec.clusterIPs', spec.clusterIPs, 'first value must match `clusterIP`'));
  }
  if (ips[0] === 'None' && (spec.type === 'NodePort' || spec.type === 'LoadBalancer')) {
    errors.push(invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`));
  }
  for (const [i, ip] of ips.entries()) {
    if (ip !== 'None' && parseIp(ip) === undefined) errors.push(invalidValue(`spec.clusterIPs[${i}]`, ip, NOT_AN_IP));
  }
  return errors;
}

function checkExternal(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, text] of (spec.externalIPs ?? []).entries()) {
    const field = `spec.externalIPs[${i}]`;
    const ip = parseIp(text);
    if (ip === undefined) errors.push(invalidValue(field, text, NOT_AN_IP));
    else errors.push(...unroutable(ip).map((why) => invalidValue(field, text, why)));
  }
  if (spec.type === 'ExternalName') {
    const name = (spec.externalName ?? '').replace(/\.$/, '');
    if (name === '') errors.push(required('spec.externalName'));
    else errors.push(...dnsSubdomain(name).map((why) => invalidValue('spec.externalName', name, why)));
  }
  const policy = spec.externalTrafficPolicy;
  if (policy !== undefined && !isExternallyAccessible(spec)) {
    const why = 'may only be set for externally-accessible services';
    errors.push(invalidValue('spec.externalTrafficPolicy', policy, why));
  } else errors.push(...supported('spec.externalTrafficPolicy', policy, ['Cluster', 'Local']));
  return errors;
}

function unroutable(ip: string): string[] {
  if (ip === '0.0.0.0' || ip === '::') return [`may not be unspecified (${ip})`];
  if (isLoopback(ip)) return ['may not be in the loopback range (127.0.0.0/8, ::1/128)'];
  if (ip.startsWith('169.254.') || /^fe[89ab]/.test(ip)) {
    return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'];
  }
  if (ip.startsWith('224.0.0.') || ip.startsWith('ff02:')) {
    return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'];
  }
  return [];
}

const ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'";

function checkLoadBalancer(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (spec.type !== 'LoadBalancer') {
    for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
      if (spec[field] !== undefined) errors.push(forbiddenField(`spec.${field}`, ONLY_LOAD_BALANCERS));
    }
    if (ranges.length > 0) errors.push(forbiddenField('spec.loadBalancerSourceRanges', ONLY_LOAD_BALANCERS));
  }
  for (const [i, range] of ranges.entries()) {
    if (parseCidr(range.trim()) !== undefined) continue;
    const why = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
    errors.push(invalidValue(`spec.loadBalancerSourceRanges[${i}]`, range, why));
  }
  if (spec.healthCheckNodePort && !(spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local')) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalidValue('spec.healthCheckNodePort', spec.healthCheckNodePort, why));
  }
  return errors;
}

function checkAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (sessionAffinity !== 'ClientIP' || seconds === undefined || (seconds > 0 && seconds <= 86400)) return [];
  const field = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
  return [invalidValue(field, seconds, 'must be greater than 0 and less than 86400')];
}

function checkChange(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const held = before.clusterIPs?.[0];
  const given = spec.clusterIPs?.[0] ?? spec.clusterIP;
  const keepsType = before.type !== 'ExternalName' && spec.type !== 'ExternalName';
  if (keepsType && held && given && given !== held) {
    errors.push(invalidValue('spec.clusterIPs[0]', spec.clusterIPs ?? [given], 'may not change once set'));
  }
  if (keepsType && spec.ipFamilies?.[0] && before.ipFamilies?.[0] && spec.ipFamilies[0] !== before.ipFamilies[0]) {
    errors.push(invalidValue('spec.ipFamilies[0]', spec.ipFamilies[0], 'may not change once set'));
  }
  const isStillLocal = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
  if (isStillLocal && before.healthCheckNodePort && !sameJson(spec.healthCheckNodePort, before.healthCheckNodePort)) {
    if (spec.healthCheckNodePort) {
      errors.push(invalidValue('spec.healthCheckNodePort', spec.healthCheckNodePort, IMMUTABLE));
    }
  }
  return errors;
}
