// Ports that rules take from the node's own programs are held by a socket of ours, so that a program which asks for one is
// told that it is taken. Nothing is ever read from these sockets: the rules lead packets elsewhere.
import dgram from 'node:dgram';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Family, familyOf, hostPort } from '../../lib/ip.ts';
import { claimKey } from './diff.ts';
import type { Claim } from './plan.ts';

export interface ClaimsOptions {
  readonly family: Family;
  /** Told why a port could not be claimed; its rules stand all the same. */
  readonly onProblem: (text: string) => void;
}

interface Held {
  readonly owner: string;
  readonly close: () => void;
}

export class Claims {
  readonly #options: ClaimsOptions;
  /** By address, port and protocol. */
  readonly #held = new Map<string, Held>();
  /** Those that are not held: the address is not this node's, or somebody else has the port. */
  readonly #wanting = new Map<string, { readonly claim: Claim; said?: string }>();

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  async claim(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) await this.#claim(claim);
  }

  /** Tries again what may have become possible: whoever had a port may have gone, and the node may have a new address. */
  async retry(): Promise<void> {
    const isOwn = ownAddresses();
    for (const { claim } of [...this.#wanting.values()]) {
      if (claim.ip === undefined || isOwn.has(claim.ip)) await this.#claim(claim);
    }
  }

  release(claims: readonly Claim[]): void {
    for (const claim of claims) {
      this.#wanting.delete(claimKey(claim));
      const held = this.#held.get(placeOf(claim));
      if (held?.owner !== claim.owner) continue;
      held.close();
      this.#held.delete(placeOf(claim));
    }
  }

  releaseAll(): void {
    for (const { close } of this.#held.values()) close();
    this.#held.clear();
    this.#wanting.clear();
  }

  async #claim(claim: Claim): Promise<void> {
    const held = this.#held.get(placeOf(claim));
    if (held?.owner === claim.owner) return;
    const place = `${hostPort(claim.ip ?? anyAddress(this.#options.family), claim.port)}/${claim.protocol}`;
    const wanting = this.#wanting.get(claimKey(claim)) ?? { claim };
    this.#wanting.set(claimKey(claim), wanting);
    const say = (problem: string): void => {
      if (wanting.said !== problem) this.#options.onProblem(problem);
      wanting.said = problem;
    };
    if (held) {
      say(`Port conflict detected on port ${place}.  ${claim.owner} vs ${held.owner}`);
      return;
    }
    try {
      const close = await hold(claim, this.#options.family);
      this.#held.set(placeOf(claim), { owner: claim.owner, close });
      this.#wanting.delete(claimKey(claim));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'EADDRNOTAVAIL') return; // an address that is not this node's needs no claim
      say(`can't open node port for ${place}: ${message}`);
    }
  }
}

function placeOf(claim: Claim): string {
  return claimKey({ ...claim, owner: '' });
}

function ownAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []));
}

function anyAddress(family: Family): string {
  return family === 'IPv4' ? '0.0.0.0' : '::';
}

function hold({ ip, port, protocol }: Claim, family: Family): Promise<() => void> {
  const address = ip ?? anyAddress(family);
  return new Promise((resolve, reject) => {
    if (protocol === 'TCP') {
      const server = net.createServer((socket) => socket.destroy());
      server.once('error', reject);
      server.listen({ host: address, port, ipv6Only: true }, () => {
        server.unref();
        resolve(() => server.close());
      });
    } else {
      const isIPv6 = familyOf(address) === 'IPv6';
      const socket = dgram.createSocket({ type: isIPv6 ? 'udp6' : 'udp4', ipv6Only: isIPv6 });
      socket.once('error', reject);
      socket.bind({ address, port, exclusive: true }, () => {
        socket.unref();
        resolve(() => socket.close());
      });
    }
  });
}
