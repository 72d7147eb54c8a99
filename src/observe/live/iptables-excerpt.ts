// In: the text of iptables-save, which may have megabytes, and what packets are asked about.  Out: the text without the lines
// that such packets cannot meet: those that send other addresses to their Service, and that Service's chains. Lines are judged
// as text, since making rules of all of them is what takes memory. What is not certain to be about others stays.
import { parseIp } from '../../lib/ip.ts';
import { isServiceChain } from '../../modes/iptables/names.ts';
import { CHAINS } from '../../modes/userspace/rules.ts';
import { type Concern, isConcerned } from './concern.ts';

export function iptablesExcerpt(text: string, concern: Concern): string {
  const led = new Set<string>();
  const isKept = (line: string): boolean => isMet(line, led, concern);
  // A chain may stand before the one that leads to it, so the text is read until nothing new is found.
  for (let known = -1; known < led.size; ) {
    known = led.size;
    for (const line of linesOf(text)) {
      const chain = LEADS_TO.exec(line)?.[1];
      if (chain !== undefined && !led.has(chain) && isKept(line)) led.add(chain);
    }
  }
  return linesOf(text).filter(isKept).toArray().join('\n');
}

function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    yield text.slice(start, end);
    start = end + 1;
  }
}

const LEADS_TO = / -[jg] (KUBE-(?:SVC|SVL|SEP|FW|EXT)-\S+)/;

/** `led`: the chains of Services that lines lead to. */
function isMet(line: string, led: ReadonlySet<string>, concern: Concern): boolean {
  const chain = chainOf(line);
  if (chain === undefined) return true;
  if (isServiceChain(chain)) return led.has(chain);
  return !SHARED_BY_SERVICES.has(chain) || line.startsWith(':') || mayMatch(line, concern);
}

/** Of a rule, or of the line that declares a chain. */
function chainOf(line: string): string | undefined {
  const start = line.startsWith(':') ? 1 : line.startsWith('-A ') ? 3 : undefined;
  if (start === undefined) return undefined;
  const end = line.indexOf(' ', start);
  return line.slice(start, end < 0 ? undefined : end);
}

/** Where Services stand side by side, a line or more for each. */
const SHARED_BY_SERVICES: ReadonlySet<string> = new Set([
  'KUBE-SERVICES',
  'KUBE-NODEPORTS',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-PROXY-FIREWALL',
  'KUBE-LOCAL-CLIENTS', // of IPVS mode
  CHAINS.portalsContainer,
  CHAINS.portalsHost,
  CHAINS.nodePortContainer,
  CHAINS.nodePortHost,
]);

const QUOTED = /"(?:[^"\\]|\\.)*"/g;
const ONE_PORT = / -m (?:tcp|udp|sctp) --dport (\d+)(?= |$)/;
const DESTINATION = /( !)? -d ([^ /]+)(?:\/(\d+))? /;

/** False only for a rule that asks for one port, and by no address or by one alone, none of which such packets have. */
function mayMatch(line: string, concern: Concern): boolean {
  const rule = line.replace(QUOTED, '""');
  const port = ONE_PORT.exec(rule)?.[1];
  if (port === undefined) return true;
  const [, not, ip, length] = DESTINATION.exec(rule) ?? [];
  if (ip === undefined || (ip === '127.0.0.0' && length === '8' && !not)) return concern.ports.has(Number(port));
  const isOne = length === undefined || length === (ip.includes(':') ? '128' : '32');
  if (not || !isOne) return true;
  return isConcerned(concern, parseIp(ip) ?? ip, Number(port));
}
