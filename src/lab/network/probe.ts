// A probe asks one address many times and says who answered. In: who asks, what and how often. Out: the answers in the
// words of packet tests: owners of addresses rather than addresses.
import { familyOf, parseIp } from '../../lib/ip.ts';
import type { Attempt, Failure, Target } from './attempt.ts';
import type { Transport } from './libc.ts';

export interface PacketProbe {
  readonly from: string;
  readonly proto: Transport;
  /** `10.96.0.1:80`, `[fd00::1]:80` */
  readonly to: string;
  /** The source address, where it is not the first of the client's own. */
  readonly bind?: string;
  /** 60 unless given. */
  readonly count?: number;
  /** How long an answer is waited for, which alone tells a packet that was dropped: 2000 unless given. */
  readonly timeoutMs?: number;
}

export interface PacketResult {
  /** By `pod:port`, whose address it saw as the source: `client`, `node`, or another address. */
  readonly answered?: Readonly<Record<string, readonly string[]>>;
  readonly failed?: readonly Failure[];
  /** How many answers each gave. */
  readonly shares: Readonly<Record<string, number>>;
}

/** Who owns an address, as a probe calls it. */
export type OwnerOf = (ip: string) => string;

/** Makes one attempt in the asker's namespace. */
export type Ask = (transport: Transport, target: Omit<Target, 'sourcePort'>) => Promise<Attempt>;

const COUNT = 60;
const TIMEOUT_MS = 2000;
const FAILURES = 2;
const IN_FLIGHT = 8;
// Long enough for the kernel to have chosen an endpoint, so that the first attempt decides where session affinity leads.
const HEAD_START_MS = 100;

export async function probePackets(probe: PacketProbe, ask: Ask, ownerOf: OwnerOf): Promise<PacketResult> {
  const target = { ...parseTarget(probe.to, probe.bind), timeoutMs: probe.timeoutMs ?? TIMEOUT_MS };
  const attempts: Attempt[] = [];
  const hasFailed = () => attempts.filter(({ kind }) => kind === 'failed').length >= FAILURES;
  let left = probe.count ?? COUNT;

  const askOnce = async () => {
    left--;
    attempts.push(await ask(probe.proto, target));
  };
  const askOn = async () => {
    while (left > 0 && !hasFailed()) await askOnce();
  };

  const first = askOnce();
  await Promise.race([first, delay(HEAD_START_MS)]);
  // Where the first is still waiting it was probably dropped: a second one, beside it, will tell.
  const isAnswered = attempts.some(({ kind }) => kind === 'answered');
  if (!isAnswered && left > 0) await Promise.all([first, askOnce()]);
  await Promise.all([first, ...Array.from({ length: IN_FLIGHT }, askOn)]);
  return summary(attempts, ownerOf);
}

export function parseTarget(to: string, bind?: string): Pick<Target, 'ip' | 'port' | 'sourceIp'> {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(to);
  const ip = match && parseIp(match[1] ?? match[2] ?? '');
  if (!ip) throw new Error(`not an address and port: ${to}`);
  return { ip, port: Number(match[3]), sourceIp: bind ?? (familyOf(ip) === 'IPv4' ? '0.0.0.0' : '::') };
}

function summary(attempts: readonly Attempt[], ownerOf: OwnerOf): PacketResult {
  const owners = new Map<string, Set<string>>();
  const shares: Record<string, number> = {};
  const failures = new Set<Failure>();
  for (const result of attempts) {
    if (result.kind === 'failed') {
      failures.add(result.failure);
      continue;
    }
    const { name, port, source } = result.answer;
    const endpoint = `${name}:${port}`;
    owners.set(endpoint, (owners.get(endpoint) ?? new Set()).add(ownerOf(source)));
    shares[endpoint] = (shares[endpoint] ?? 0) + 1;
  }
  const answered = Object.fromEntries([...owners].sort().map(([endpoint, set]) => [endpoint, [...set].sort()]));
  return {
    ...(owners.size > 0 && { answered }),
    ...(failures.size > 0 && { failed: [...failures].sort() }),
    shares,
  };
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
