// In: objects as the API server or a file gives them, of any shape.  Out: the values of objects.ts, and a problem for every
// oddity. Text becomes values here and nowhere else; what leaves this file can be written into rules without a second look.
import { type Family, familyOf, parseCidr, parseIp } from '../lib/ip.ts';
import { Fields, show } from './fields.ts';
import type {
  Endpoint,
  EndpointSlice,
  Node,
  PerFamily,
  Problem,
  Protocol,
  Service,
  ServiceCIDR,
  ServicePortSpec,
  SlicePort,
} from './objects.ts';

export interface Parsed<T> {
  /** Undefined: the object asks nothing of a proxy (a headless Service), or is beyond use (then a problem says why). */
  readonly value: T | undefined;
  readonly problems: readonly Problem[];
}

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
export const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';
export const HEADLESS_LABEL = 'service.kubernetes.io/headless';
const ZONE_LABEL = 'topology.kubernetes.io/zone';
const TRIGGER_TIME_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const DEFAULT_AFFINITY_SECONDS = 10800;
const POLICIES = ['Cluster', 'Local'];

export function parseService(raw: unknown): Parsed<Service> {
  const { fields, metadata, namespace, name } = open('Service', raw);
  const done = (value?: Service): Parsed<Service> => ({ value, problems: fields.problems });
  if (!isLabel(namespace) || !isLabel(name)) {
    metadata.problem(
      isLabel(namespace) ? 'name' : 'namespace',
      `not a DNS label: ${show(isLabel(namespace) ? name : namespace)}; the Service is left out`,
    );
    return done();
  }
  if (metadata.child('labels').has(PROXY_NAME_LABEL)) return done();

  const spec = fields.child('spec');
  const type = spec.oneOf('type', 'ClusterIP', ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']);
  const clusterIP = spec.text('clusterIP');
  if (clusterIP === 'None' || type === 'ExternalName') return done();
  if (clusterIP === '') {
    spec.problem('clusterIP', 'not set, so there is no address to serve (the API server assigns one)');
    return done();
  }

  const rawExternalIPs = spec.texts('externalIPs');
  const isExposed =
    type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && rawExternalIPs.length > 0);
  const externalTrafficPolicyLocal = spec.oneOf('externalTrafficPolicy', 'Cluster', POLICIES) === 'Local' && isExposed;
  return done({
    namespace,
    name,
    uid: metadata.text('uid'),
    type,
    clusterIPs: clusterIPs(spec, clusterIP),
    ports: servicePorts(spec),
    externalIPs: perFamily(addresses(spec, 'externalIPs', rawExternalIPs)),
    loadBalancerIPs: perFamily(ingressAddresses(fields)),
    loadBalancerSourceRanges: sourceRanges(spec),
    affinityTimeoutSeconds: affinityTimeoutSeconds(spec),
    externalTrafficPolicyLocal,
    internalTrafficPolicyLocal: spec.oneOf('internalTrafficPolicy', 'Cluster', POLICIES) === 'Local',
    healthCheckNodePort: type === 'LoadBalancer' && externalTrafficPolicyLocal ? healthCheckNodePort(spec) : 0,
  });
}

export function parseEndpointSlice(raw: unknown): Parsed<EndpointSlice> {
  const { fields, metadata, namespace, name } = open('EndpointSlice', raw);
  const done = (value?: EndpointSlice): Parsed<EndpointSlice> => ({ value, problems: fields.problems });
  if (metadata.child('labels').has(HEADLESS_LABEL)) return done();
  const service = metadata.child('labels').text(SERVICE_NAME_LABEL);
  if (!isLabel(namespace) || !isSubdomain(name)) {
    metadata.problem(
      isLabel(namespace) ? 'name' : 'namespace',
      `not a DNS name: ${show(isLabel(namespace) ? name : namespace)}; the slice is left out`,
    );
    return done();
  }
  if (!isLabel(service)) {
    metadata.problem(
      `labels[${SERVICE_NAME_LABEL}]`,
      `does not name a Service: ${show(service)}; the slice is left out`,
    );
    return done();
  }
  const addressType = fields.text('addressType');
  if (addressType !== 'IPv4' && addressType !== 'IPv6') {
    fields.problem('addressType', `must be IPv4 or IPv6, not ${show(addressType)}; the slice is left out`);
    return done();
  }
  return done({
    namespace,
    name,
    service,
    family: addressType,
    ports: fields.items('ports').flatMap(slicePort),
    endpoints: fields.items('endpoints').flatMap((endpoint) => sliceEndpoint(endpoint, addressType)),
    lastChangeTriggerTime: triggerTime(metadata),
    resourceVersion: metadata.text('resourceVersion'),
  });
}

/** An Endpoints object of old, as the slices a controller would make of it: one for each subset and family. */
export function parseEndpoints(raw: unknown): Parsed<readonly EndpointSlice[]> {
  const { fields, metadata, namespace, name } = open('Endpoints', raw);
  if (!isLabel(namespace) || !isLabel(name)) {
    metadata.problem('name', `not a DNS label: ${show(`${namespace}/${name}`)}; the object is left out`);
    return { value: undefined, problems: fields.problems };
  }
  const slices = fields.items('subsets').flatMap((subset, i) => {
    const ports = subset.items('ports').flatMap((port) => slicePort(port));
    const endpoints = [
      ...subset.items('addresses').flatMap((address) => subsetEndpoint(address, true)),
      ...subset.items('notReadyAddresses').flatMap((address) => subsetEndpoint(address, false)),
    ];
    return (['IPv4', 'IPv6'] as const).flatMap((family): EndpointSlice[] => {
      const ofFamily = endpoints.filter((endpoint) => familyOf(endpoint.ip) === family);
      const slice = {
        namespace,
        name: `${name}-${i}-${family.toLowerCase()}`,
        service: name,
        family,
        ports,
        endpoints: ofFamily,
      };
      return ofFamily.length === 0
        ? []
        : [{ ...slice, lastChangeTriggerTime: undefined, resourceVersion: metadata.text('resourceVersion') }];
    });
  });
  return { value: slices, problems: fields.problems };
}

export function parseNode(raw: unknown): Parsed<Node> {
  const { fields, metadata, name } = open('Node', raw);
  if (name === '') {
    metadata.problem('name', 'must not be empty; the Node is left out');
    return { value: undefined, problems: fields.problems };
  }
  const spec = fields.child('spec');
  const addresses = fields.child('status').items('addresses');
  const typed = addresses.map((address) => ({ type: address.text('type'), address }));
  const addressesOfType = (wanted: string): readonly string[] =>
    typed.filter(({ type }) => type === wanted).flatMap(({ address }) => ipOf(address, 'address'));
  const podCIDRs = spec.isAbsent('podCIDRs')
    ? [spec.text('podCIDR')].filter((cidr) => cidr !== '')
    : spec.texts('podCIDRs');
  const value: Node = {
    name,
    uid: metadata.text('uid'),
    ips: [...addressesOfType('InternalIP'), ...addressesOfType('ExternalIP')],
    podCIDRs: networks(spec, 'podCIDRs', podCIDRs),
    zone: metadata.child('labels').text(ZONE_LABEL),
    isBeingDeleted: !metadata.isAbsent('deletionTimestamp'),
    taintKeys: spec.items('taints').map((taint) => taint.text('key')),
  };
  return { value, problems: fields.problems };
}

export function parseServiceCIDR(raw: unknown): Parsed<ServiceCIDR> {
  const { fields, name } = open('ServiceCIDR', raw);
  const spec = fields.child('spec');
  return { value: { name, cidrs: networks(spec, 'cidrs', spec.texts('cidrs')) }, problems: fields.problems };
}

function open(kind: string, raw: unknown): { fields: Fields; metadata: Fields; namespace: string; name: string } {
  const peek = new Fields(raw, kind).child('metadata'); // its problems are found again, by an object that has its name
  const isNamespaced = kind !== 'Node' && kind !== 'ServiceCIDR';
  const namespace = isNamespaced ? peek.text('namespace', peek.isAbsent('namespace') ? 'default' : '') : '';
  const name = peek.text('name');
  const fields = new Fields(
    raw,
    `${kind} ${namespace === '' ? '' : `${printable(namespace)}/`}${printable(name) || '(unnamed)'}`,
  );
  return { fields, metadata: fields.child('metadata'), namespace, name };
}

/** The cluster IP of each family, from ipFamilies and clusterIPs where they are set, else from clusterIP alone. */
function clusterIPs(spec: Fields, clusterIP: string): Service['clusterIPs'] {
  const families = spec.texts('ipFamilies');
  const ips = spec.isAbsent('clusterIPs') ? [clusterIP] : spec.texts('clusterIPs');
  const found: Partial<Record<Family, string>> = {};
  const candidates = families.length === 0 ? [clusterIP] : ips.slice(0, families.length);
  for (const [i, text] of candidates.entries()) {
    const field = families.length === 0 || spec.isAbsent('clusterIPs') ? 'clusterIP' : `clusterIPs[${i}]`;
    const ip = parseIp(text);
    if (ip === undefined) spec.problem(field, `not an IP address: ${show(text)}`);
    else if (families.length > 0 && families[i] !== familyOf(ip))
      spec.problem(field, `${ip} is not of the family ${show(families[i])} in ipFamilies[${i}]`);
    else found[familyOf(ip)] ??= ip;
  }
  return found;
}

function servicePorts(spec: Fields): readonly ServicePortSpec[] {
  const ports = new Map<string, ServicePortSpec>();
  const numbers = new Set<string>();
  for (const entry of spec.items('ports')) {
    const name = entry.text('name');
    const protocol = protocolOf(entry);
    const port = entry.number('port', 0, 1, 65535);
    const nodePort = entry.number('nodePort', 0, 0, 65535);
    if (name !== '' && !isLabel(name)) entry.problem('name', `not a DNS label: ${show(name)}; this port is left out`);
    else if (port === 0) entry.problem('port', 'missing or out of range; this port is left out');
    else if (!protocol) continue;
    else if (ports.has(`${name}/${protocol}`))
      entry.problem('name', `another port is named ${show(name)} too; this one is left out`);
    else if (numbers.has(`${port}/${protocol}`))
      entry.problem('port', `another port is ${port}/${protocol} too; this one is left out`);
    else {
      ports.set(`${name}/${protocol}`, { name, protocol, port, nodePort });
      numbers.add(`${port}/${protocol}`);
    }
  }
  return [...ports.values()];
}

function ingressAddresses(fields: Fields): readonly string[] {
  const ingress = fields.child('status').child('loadBalancer').items('ingress');
  return ingress
    .filter((entry) => entry.oneOf('ipMode', 'VIP', ['VIP', 'Proxy']) === 'VIP')
    .flatMap((entry) => ipOf(entry, 'ip'));
}

/** One network that holds every address lifts the restriction altogether. */
function sourceRanges(spec: Fields): PerFamily<readonly string[]> {
  const ranges = perFamily(networks(spec, 'loadBalancerSourceRanges', spec.texts('loadBalancerSourceRanges')));
  const limited = (cidrs: readonly string[]): readonly string[] =>
    cidrs.some((cidr) => cidr.endsWith('/0')) ? NONE : cidrs;
  return { IPv4: limited(ranges.IPv4), IPv6: limited(ranges.IPv6) };
}

function affinityTimeoutSeconds(spec: Fields): number {
  if (spec.oneOf('sessionAffinity', 'None', ['None', 'ClientIP']) !== 'ClientIP') return 0;
  return spec
    .child('sessionAffinityConfig')
    .child('clientIP')
    .number('timeoutSeconds', DEFAULT_AFFINITY_SECONDS, 1, 86400);
}

function healthCheckNodePort(spec: Fields): number {
  const port = spec.number('healthCheckNodePort', 0, 0, 65535);
  if (port === 0)
    spec.problem('healthCheckNodePort', 'Service has no healthcheck nodeport, so load balancers cannot ask this node');
  return port;
}

function slicePort(port: Fields): SlicePort[] {
  const name = port.text('name');
  const protocol = protocolOf(port);
  const number = port.number('port', 0, 1, 65535);
  if (number === 0)
    port.problem('port', 'a port number is needed ("all ports" is not supported); this port is left out');
  if (name !== '' && !isLabel(name)) {
    port.problem('name', `not a DNS label: ${show(name)}; this port is left out`);
    return [];
  }
  return number === 0 || !protocol ? [] : [{ name, protocol, port: number }];
}

function sliceEndpoint(endpoint: Fields, family: Family): Endpoint[] {
  const text = endpoint.texts('addresses')[0];
  const ip = text === undefined ? undefined : parseIp(text);
  if (ip === undefined || familyOf(ip) !== family) {
    const reason = text === undefined ? 'no address' : `not an ${family} address: ${show(text)}`;
    endpoint.problem('addresses', `${reason}; this endpoint is left out`);
    return [];
  }
  const conditions = endpoint.child('conditions');
  const hints = endpoint.child('hints');
  const hintNames = (kind: string): readonly string[] =>
    hints.isAbsent(kind)
      ? NONE
      : hints
          .items(kind)
          .map((hint) => hint.text('name'))
          .filter((hint) => hint !== '');
  return [
    {
      ip,
      nodeName: endpoint.text('nodeName') || undefined,
      zone: endpoint.text('zone') || undefined,
      ready: conditions.flag('ready', true),
      serving: conditions.flag('serving', true),
      terminating: conditions.flag('terminating', false),
      zoneHints: hintNames('forZones'),
      nodeHints: hintNames('forNodes'),
      target: targetOf(endpoint),
    },
  ];
}

function subsetEndpoint(address: Fields, ready: boolean): Endpoint[] {
  const nodeName = address.text('nodeName') || undefined;
  const common = {
    nodeName,
    zone: undefined,
    ready,
    serving: ready,
    terminating: false,
    zoneHints: NONE,
    nodeHints: NONE,
  };
  return ipOf(address, 'ip').map((ip) => ({ ip, ...common, target: targetOf(address) }));
}

function targetOf(endpoint: Fields): string | undefined {
  const reference = endpoint.child('targetRef');
  const name = reference.text('name');
  return name === ''
    ? undefined
    : `${printable(reference.text('kind'))} ${printable(reference.text('namespace'))}/${printable(name)}`;
}

function triggerTime(metadata: Fields): number | undefined {
  const text = metadata.child('annotations').text(TRIGGER_TIME_ANNOTATION);
  if (text === '') return undefined;
  const time = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) metadata.problem(`annotations[${TRIGGER_TIME_ANNOTATION}]`, `not a time: ${show(text)}`);
  return Number.isNaN(time) ? undefined : time;
}

function protocolOf(port: Fields): Protocol | undefined {
  const protocol = port.text('protocol', 'TCP');
  if (protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP') return protocol;
  port.problem('protocol', `must be TCP, UDP or SCTP, not ${show(protocol)}; this port is left out`);
  return undefined;
}

function ipOf(fields: Fields, field: string): string[] {
  const text = fields.text(field);
  const ip = parseIp(text);
  if (ip === undefined && text !== '')
    fields.problem(field, `not an IP address: ${show(text)}; this entry is left out`);
  return ip === undefined ? [] : [ip];
}

function addresses(fields: Fields, field: string, texts: readonly string[]): readonly string[] {
  return texts.flatMap((text, i) => readEntry(fields, `${field}[${i}]`, text, parseIp(text), 'an IP address'));
}

function networks(fields: Fields, field: string, texts: readonly string[]): readonly string[] {
  return texts.flatMap((text, i) => readEntry(fields, `${field}[${i}]`, text, parseCidr(text.trim()), 'a CIDR'));
}

/** Blank entries are passed over in silence. */
function readEntry(fields: Fields, field: string, text: string, value: string | undefined, what: string): string[] {
  if (value !== undefined) return [value];
  if (text.trim() !== '') fields.problem(field, `not ${what}: ${show(text)}; this entry is left out`);
  return [];
}

const NONE: readonly string[] = [];

function perFamily(canonical: readonly string[]): PerFamily<readonly string[]> {
  if (canonical.length === 0) return { IPv4: NONE, IPv6: NONE };
  return {
    IPv4: canonical.filter((text) => familyOf(text) === 'IPv4'),
    IPv6: canonical.filter((text) => familyOf(text) === 'IPv6'),
  };
}

/** RFC 1123 label: what Kubernetes allows for names of Services, namespaces and ports. */
function isLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text);
}

function isSubdomain(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text);
}

/** A name as messages may show it, whatever it contains. */
function printable(name: string): string {
  return name.replace(/[^\x21-\x7e]/g, '?').slice(0, 253);
}
