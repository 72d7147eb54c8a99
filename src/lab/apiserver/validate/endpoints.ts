// What must hold of EndpointSlices and Endpoints.
import { familyOf, parseIp } from '../../../lib/ip.ts';
import type { FieldError } from '../status.ts';
import type { EndpointSlice, Endpoints, SliceEndpoint } from '../types.ts';
import { duplicate, IMMUTABLE, invalidValue, portNumber, required, supported, tooMany } from './field.ts';
import { dnsLabel, dnsSubdomain } from './names.ts';

const MOST_ENDPOINTS = 1000;
const MOST_PORTS = 20000;
const MOST_ADDRESSES = 100;
const MOST_HINTS = 8;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

export function checkEndpointSlice(slice: EndpointSlice, before: EndpointSlice | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const endpoints = slice.endpoints ?? [];
  const ports = slice.ports ?? [];
  if (!slice.addressType) errors.push(required('addressType'));
  else errors.push(...supported('addressType', slice.addressType, ['IPv4', 'IPv6', 'FQDN']));
  if (before && before.addressType !== slice.addressType) {
    errors.push(invalidValue('addressType', slice.addressType, IMMUTABLE));
  }
  if (endpoints.length > MOST_ENDPOINTS) errors.push(tooMany('endpoints', endpoints.length, MOST_ENDPOINTS));
  errors.push(...endpoints.flatMap((endpoint, i) => checkEndpoint(endpoint, slice.addressType, `endpoints[${i}]`)));
  if (ports.length > MOST_PORTS) errors.push(tooMany('ports', ports.length, MOST_PORTS));
  const names = new Set<string>();
  for (const [i, { name = '', protocol, port }] of ports.entries()) {
    const field = `ports[${i}]`;
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name));
    names.add(name);
    if (name !== '') errors.push(...dnsLabel(name).map((why) => invalidValue(`${field}.name`, name, why)));
    errors.push(...supported(`${field}.protocol`, protocol, PROTOCOLS));
    if (port !== undefined) errors.push(...portNumber(`${field}.port`, port));
  }
  return errors;
}

function checkEndpoint(
  { addresses, nodeName, hostname, hints }: SliceEndpoint,
  type: string,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const given = addresses ?? [];
  if (given.length === 0) errors.push(required(`${field}.addresses`, 'must contain at least 1 address'));
  if (given.length > MOST_ADDRESSES) errors.push(tooMany(`${field}.addresses`, given.length, MOST_ADDRESSES));
  for (const [i, address] of given.entries()) {
    const at = `${field}.addresses[${i}]`;
    if (type === 'FQDN') errors.push(...dnsSubdomain(address).map((why) => invalidValue(at, address, why)));
    else if (parseIp(address) === undefined || familyOf(address) !== type) {
      errors.push(invalidValue(at, address, `must be a valid ${type} address`));
    }
  }
  if (nodeName) errors.push(...dnsSubdomain(nodeName).map((why) => invalidValue(`${field}.nodeName`, nodeName, why)));
  if (hostname) errors.push(...dnsLabel(hostname).map((why) => invalidValue(`${field}.hostname`, hostname, why)));
  for (const list of ['forZones', 'forNodes'] as const) {
    const count = hints?.[list]?.length ?? 0;
    if (count > MOST_HINTS) errors.push(tooMany(`${field}.hints.${list}`, count, MOST_HINTS));
  }
  return errors;
}

export function checkEndpoints({ subsets = [] }: Endpoints): FieldError[] {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports = [] }, i) => {
    const field = `subsets[${i}]`;
    const wrongIps = (list: readonly { ip: string }[], name: string) =>
      list.flatMap(({ ip }, j) =>
        parseIp(ip ?? '') === undefined
          ? [
              invalidValue(
                `${field}.${name}[${j}].ip`,
                ip ?? '',
                'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
              ),
            ]
          : [],
      );
    return [
      ...(addresses.length + notReadyAddresses.length === 0
        ? [required(field, 'must specify `addresses` or `notReadyAddresses`')]
        : []),
      ...wrongIps(addresses, 'addresses'),
      ...wrongIps(notReadyAddresses, 'notReadyAddresses'),
      ...ports.flatMap(({ name, port, protocol }, j) => [
        ...(ports.length > 1 && !name ? [required(`${field}.ports[${j}].name`)] : []),
        ...portNumber(`${field}.ports[${j}].port`, port),
        ...supported(`${field}.ports[${j}].protocol`, protocol, PROTOCOLS),
      ]),
    ];
  });
}
