// The ports at which a process of this host takes connections or datagrams.
//
//   /proc/net/tcp, udp, tcp6, udp6   number, local address:port in hex, remote, state, …
import { readFileSync } from 'node:fs';

const PROTOCOLS = ['tcp', 'udp'] as const;
const STATE = { tcp: '0A', udp: '07' } as const; // LISTEN; a UDP socket that is not connected has the state of a closed TCP one

/** `tcp 40123`; whatever the address. */
export function listeningPorts(): ReadonlySet<string> {
  const found = PROTOCOLS.flatMap((protocol) =>
    ['', '6'].flatMap((family) =>
      portsIn(textOf(`/proc/net/${protocol}${family}`), STATE[protocol]).map((port) => `${protocol} ${port}`),
    ),
  );
  return new Set(found);
}

function portsIn(text: string, state: string): readonly number[] {
  return [...text.matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) /gm)]
    .filter((match) => match[2] === state)
    .map((match) => Number.parseInt(match[1]!, 16));
}

/** A kernel without IPv6 has none of its sockets. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
