// In: a rule of iptables mode, as planned or as iptables-save prints it.  Out: where it leads, whom it asks for, and the name
// under which both forms are counted.
import { type Fraction, probabilityOf } from '../trace/fraction.ts';
import { keyOf } from './frontend-key.ts';

export interface IptablesRule {
  readonly chain: string;
  readonly target: string;
  /** Undefined: everybody who comes by. */
  readonly chance: Fraction | undefined;
  readonly source: string | undefined;
  readonly isForRemembered: boolean;
  readonly isForNodeItself: boolean;
  /** Of a DNAT. */
  readonly destination: string | undefined;
  /** Undefined for rules that lead nowhere. */
  readonly counter: string | undefined;
}

/** Undefined for lines that are no rules or have no target. */
export function parseIptablesRule(line: string): IptablesRule | undefined {
  // Comments may say anything, also words that look like options.
  const text = line.includes('"') ? line.replace(/ -m comment --comment "[^"]*"/, '') : line;
  const chain = /^-A (\S+)/.exec(text)?.[1];
  const target = / -j (\S+)/.exec(text)?.[1];
  if (!chain || !target) return undefined;
  const chance = / --probability (\S+)/.exec(text)?.[1];
  return {
    chain,
    target,
    chance: chance === undefined ? undefined : probabilityOf(chance),
    source: / -s (\S+)/.exec(text)?.[1] ?? / -i (\S+)/.exec(text)?.[1],
    isForRemembered: text.includes(' --rcheck '),
    isForNodeItself: text.includes('--src-type LOCAL'),
    destination: / --to-destination (\S+)/.exec(text)?.[1],
    counter: counterOf(text, chain, target),
  };
}

const SERVICE_CHAIN = /^KUBE-(SVC|SVL|SEP|EXT|FW)-/;
const VERDICTS = new Set(['REJECT', 'DROP']);

function counterOf(text: string, chain: string, target: string): string | undefined {
  if (SERVICE_CHAIN.test(chain)) return SERVICE_CHAIN.test(target) ? `${chain}>${target}` : undefined;
  if (!SERVICE_CHAIN.test(target) && !VERDICTS.has(target)) return undefined;
  const port = / --dport (\d+)/.exec(text)?.[1];
  const protocol = / -p (\S+)/.exec(text)?.[1];
  if (port === undefined || protocol === undefined) return undefined;
  const ip = / -d (\S+?)(?:\/(?:32|128))?(?: |$)/.exec(text)?.[1];
  return keyOf(ip?.startsWith('127.') ? undefined : ip, protocol, port);
}

/** In: the text of `iptables-save -c`.  Out: how many packets each edge of every picture has seen. */
export function iptablesCounters(saved: string): Map<string, number> {
  const counts = new Map<string, number>();
  let from = 0;
  while (from < saved.length) {
    const end = saved.indexOf('\n', from);
    const line = saved.slice(from, end < 0 ? saved.length : end);
    from = end < 0 ? saved.length : end + 1;
    const counted = /^\[(\d+):\d+\] (-A KUBE-(?:S|N|EX|FW).*)/.exec(line);
    const counter = counted && parseIptablesRule(counted[2]!)?.counter;
    if (counter) counts.set(counter, (counts.get(counter) ?? 0) + Number(counted[1]));
  }
  return counts;
}
