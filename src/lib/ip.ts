// IP addresses and networks. In: text as people write it. Out: canonical text, the one form used everywhere in Portolan,
// so that equal addresses are equal strings. Bytes are for the kernel's codecs.

export type Family = 'IPv4' | 'IPv6';

export const FAMILIES: readonly Family[] = ['IPv4', 'IPv6'];

/** The canonical text of an address, or undefined if the text is none. IPv4 octets may have leading zeros (read as
 *  decimal); an IPv4-mapped IPv6 address counts as IPv4; zone identifiers are refused. */
export function parseIp(text: string): string | undefined {
  const bytes = parseBytes(text);
  return bytes && formatIp(bytes);
}

/** The canonical text of a network (`203.0.113.9/25` is `203.0.113.0/25`), or undefined if the text is none. */
export function parseCidr(text: string): string | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const host = text.slice(0, slash);
  const lengthText = text.slice(slash + 1);
  if (!/^\d{1,5}$/.test(lengthText)) return undefined;
  const bytes = parseBytes(host);
  if (!bytes) return undefined;
  // An IPv4-mapped network is written with the longer address, so its prefix counts the 96 bits in front.
  const skipped = bytes.length === 4 && host.includes(':') ? 96 : 0;
  const length = Number(lengthText) - skipped;
  if (length < 0 || length > bytes.length * 8) return undefined;
  return `${formatIp(maskBytes(bytes, length))}/${length}`;
}

/** The family of canonical text, of an address or a network. */
export function familyOf(canonical: string): Family {
  return canonical.includes(':') ? 'IPv6' : 'IPv4';
}

export function otherFamily(family: Family): Family {
  return family === 'IPv4' ? 'IPv6' : 'IPv4';
}

export function cidrPrefixLength(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1));
}

export function cidrAddress(cidr: string): string {
  return cidr.slice(0, cidr.indexOf('/'));
}

/** The network that holds every address of a family. */
export function zeroCidr(family: Family): string {
  return family === 'IPv4' ? '0.0.0.0/0' : '::/0';
}

/** The network that holds one address. */
export function hostCidr(ip: string): string {
  return `${ip}/${familyOf(ip) === 'IPv4' ? 32 : 128}`;
}

export function cidrContains(cidr: string, ip: string): boolean {
  const network = ipBytes(cidrAddress(cidr));
  const address = ipBytes(ip);
  if (network.length !== address.length) return false;
  const length = cidrPrefixLength(cidr);
  const masked = maskBytes(address, length);
  return network.every((byte, i) => byte === masked[i]);
}

export function isLoopback(ip: string): boolean {
  return familyOf(ip) === 'IPv4' ? ip.startsWith('127.') : ip === '::1';
}

/** `ip:port`, or `[ip]:port` for IPv6. */
export function hostPort(ip: string, port: number): string {
  return familyOf(ip) === 'IPv4' ? `${ip}:${port}` : `[${ip}]:${port}`;
}

/** The 4 or 16 bytes of canonical text, in network order. */
export function ipBytes(canonical: string): Uint8Array {
  const bytes = parseBytes(canonical);
  if (!bytes) throw new Error(`not an IP address: ${canonical}`);
  return bytes;
}

/** Canonical text of 4 or 16 bytes: dotted quad, or RFC 5952. */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16));
  const { start, length } = longestZeroRun(groups);
  if (length < 2) return groups.join(':');
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

function longestZeroRun(groups: readonly string[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
    start += length;
  }
  return best;
}

function parseBytes(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text);
}

function parseIPv4(text: string): Uint8Array | undefined {
  const match = /^(\d{1,10})\.(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/.exec(text);
  if (!match) return undefined;
  const octets = match.slice(1).map(Number);
  return octets.every((octet) => octet <= 255) ? Uint8Array.from(octets) : undefined;
}

function parseIPv6(text: string): Uint8Array | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  const bytes = Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? bytes.slice(12) : bytes;
}

/** The 16-bit groups of one side of `::`; the last two may be written as a dotted quad where that side ends the text. */
function parseGroups(text: string, endsAddress: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    if (part.includes('.')) {
      const quad = endsAddress && i === parts.length - 1 ? parseIPv4(part) : undefined;
      if (!quad) return undefined;
      groups.push((quad[0]! << 8) | quad[1]!, (quad[2]! << 8) | quad[3]!);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
      groups.push(Number.parseInt(part, 16));
    }
  }
  return groups;
}

function maskBytes(bytes: Uint8Array, prefixLength: number): Uint8Array {
  return bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefixLength - 8 * i))));
}
