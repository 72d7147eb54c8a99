// Addresses to listen on, as flags and files write them: `ip`, `ip:port`, `[ip6]:port`.
import { familyOf, parseIp } from '../lib/ip.ts';

export type HostPort = { readonly host: string; readonly port: string } | { readonly problem: string };

/** Splits at the last colon; an IPv6 host stands in brackets. */
export function splitHostPort(text: string): HostPort {
  const refuse = (reason: string) => ({ problem: `address ${text}: ${reason}` });
  const lastColon = text.lastIndexOf(':');
  if (lastColon < 0) return refuse('missing port in address');
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    if (end < 0) return refuse("missing ']' in address");
    if (end + 1 === text.length) return refuse('missing port in address');
    if (end + 1 !== lastColon)
      return refuse(text[end + 1] === ':' ? 'too many colons in address' : 'missing port in address');
    const host = text.slice(1, end);
    if (/[[\]]/.test(host)) return refuse("unexpected '[' in address");
    return splitPort(text, host, lastColon, refuse);
  }
  const host = text.slice(0, lastColon);
  if (host.includes(':')) return refuse('too many colons in address');
  if (host.includes('[')) return refuse("unexpected '[' in address");
  if (host.includes(']')) return refuse("unexpected ']' in address");
  return splitPort(text, host, lastColon, refuse);
}

function splitPort(text: string, host: string, colon: number, refuse: (reason: string) => HostPort): HostPort {
  const port = text.slice(colon + 1);
  if (port.includes('[')) return refuse("unexpected '[' in address");
  if (port.includes(']')) return refuse("unexpected ']' in address");
  return { host, port };
}

/** Adds a port to a bare IP; anything else is left as it is, for validation to judge. */
export function withPort(address: string, port: number): string {
  if ('host' in splitHostPort(address)) return address;
  const ip = parseIp(address);
  if (ip === undefined) return address;
  return familyOf(ip) === 'IPv4' ? `${address}:${port}` : `[${address}]:${port}`;
}

/** What is wrong with a flag that takes an IP; undefined: nothing. */
export function ipFlagProblem(text: string): string | undefined {
  return parseIp(text) === undefined ? `${JSON.stringify(text)} is not a valid IP address` : undefined;
}

/** What is wrong with a flag that takes an IP with or without a port; undefined: nothing. */
export function ipPortFlagProblem(text: string): string | undefined {
  if (parseIp(text) !== undefined) return undefined;
  const split = splitHostPort(text);
  if ('problem' in split) return `${JSON.stringify(text)} is not in a valid format (ip or ip:port): ${split.problem}`;
  const { host, port } = split;
  if (parseIp(host) === undefined) return ipFlagProblem(host);
  return isPort(port, 0) ? undefined : `${JSON.stringify(port)} is not a valid number`;
}

export function isPort(text: string, lowest: number): boolean {
  return /^\+?\d+$/.test(text) && Number(text) >= lowest && Number(text) <= 65535;
}
