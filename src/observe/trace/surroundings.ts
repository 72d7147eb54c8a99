// The host as the walker sees it: with the addresses that it has for Services.
import type { Surroundings } from './packet.ts';
import type { Ruleset } from './ruleset.ts';

export function withAddresses(host: Surroundings, { addresses }: Ruleset): Surroundings {
  if (!addresses || addresses.size === 0) return host;
  return { ...host, isOwnAddress: (ip) => host.isOwnAddress(ip) || addresses.has(ip) };
}
