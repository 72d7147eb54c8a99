// Every shape a line for iptables-restore may have. What fits none of them was not written by us.
import { isIP } from 'node:net';
import { JUMPS } from '../../src/modes/iptables/jumps.ts';

const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const NAME = `${LABEL}/${LABEL}(?::${LABEL})?`;
const IP = '(?<ip>[0-9a-f.:]+)';
const CIDR = '[0-9a-f.:]+/\\d{1,3}';
const PORT = '\\d{1,5}';
const TO = '(?<to>\\[?[0-9a-f.:]+\\]?):\\d{1,5}';
const HASH = '[A-Z2-7]{16}';
const PROTOCOL = '(?:-m tcp -p tcp|-m udp -p udp|-m sctp -p sctp)';
const OWN = `KUBE-(?:SVC|SVL)-${HASH}`;
const SEP = `KUBE-SEP-${HASH}`;
const DETECTED = '(?: !? ?-s [0-9a-f.:]+/\\d+)?';
const comment = (text: string): string => `-m comment --comment "${text}"`;

const SHAPES = [
  '\\*(?:mangle|filter|nat)',
  'COMMIT',
  ':KUBE-(?:SERVICES|EXTERNAL-SERVICES|FORWARD|NODEPORTS|PROXY-FIREWALL|FIREWALL|POSTROUTING|MARK-MASQ|PROXY-CANARY) - \\[0:0\\]',
  `:KUBE-(?:SVC|SVL|SEP|EXT|FW)-${HASH} - \\[0:0\\]`,
  `-X KUBE-(?:SVC|SVL|SEP|EXT|FW)-${HASH}`,
  // The filter table.
  `-A KUBE-(?:EXTERNAL-)?SERVICES ${comment(`${NAME} has no (?:local )?endpoints`)} ${PROTOCOL} -d ${IP} --dport ${PORT} -j (?:REJECT|DROP)`,
  `-A KUBE-EXTERNAL-SERVICES ${comment(`${NAME} has no (?:local )?endpoints`)} -m addrtype --dst-type LOCAL ${PROTOCOL} --dport ${PORT} -j (?:REJECT|DROP)`,
  `-A KUBE-PROXY-FIREWALL ${comment(`${NAME} traffic not accepted by KUBE-FW-${HASH}`)} ${PROTOCOL} -d ${IP} --dport ${PORT} -j DROP`,
  `-A KUBE-NODEPORTS ${comment(`${NAME} health check node port`)} -m tcp -p tcp --dport ${PORT} -j ACCEPT`,
  `-A KUBE-FIREWALL ${comment('block incoming localnet connections')} -d 127\\.0\\.0\\.0/8 ! -s 127\\.0\\.0\\.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
  '-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP',
  `-A KUBE-FORWARD ${comment('kubernetes forwarding rules')} -m mark --mark 0x00004000/0x00004000 -j ACCEPT`,
  `-A KUBE-FORWARD ${comment('kubernetes forwarding conntrack rule')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
  // The nat table.
  '-A KUBE-POSTROUTING -m mark ! --mark 0x00004000/0x00004000 -j RETURN',
  '-A KUBE-POSTROUTING -j MARK --xor-mark 0x00004000',
  `-A KUBE-POSTROUTING ${comment('kubernetes service traffic requiring SNAT')} -j MASQUERADE --random-fully`,
  '-A KUBE-MARK-MASQ -j MARK --or-mark 0x00004000',
  `-A KUBE-SERVICES ${comment('kubernetes service nodeports; NOTE: this must be the last rule in this chain')} -m addrtype --dst-type LOCAL(?: ! -d ::1/128)? -j KUBE-NODEPORTS`,
  `-A KUBE-SERVICES ${comment(`${NAME} (?:cluster|external|loadbalancer) IP`)} ${PROTOCOL} -d ${IP} --dport ${PORT} -j KUBE-(?:SVC|SVL|EXT|FW)-${HASH}`,
  `-A KUBE-NODEPORTS -m comment --comment ${NAME} ${PROTOCOL} --dport ${PORT} -j KUBE-EXT-${HASH}`,
  `-A ${OWN} ${comment(`${NAME} cluster IP`)} ${PROTOCOL} -d ${IP} --dport ${PORT}${DETECTED} -j KUBE-MARK-MASQ`,
  `-A ${OWN} ${comment(`${NAME} -> ${TO}`)}(?: -m recent --name ${SEP} --rcheck --seconds \\d{1,5} --reap| -m statistic --mode random --probability 0\\.\\d{10})? -j ${SEP}`,
  `-A KUBE-EXT-${HASH} ${comment(`masquerade traffic for ${NAME} external destinations`)} -j KUBE-MARK-MASQ`,
  `-A KUBE-EXT-${HASH} ${comment(`pod traffic for ${NAME} external destinations`)}${DETECTED} -j KUBE-SVC-${HASH}`,
  `-A KUBE-EXT-${HASH} ${comment(`(?:masquerade|route) LOCAL traffic for ${NAME} external destinations`)} -m addrtype --src-type LOCAL -j KUBE-(?:MARK-MASQ|SVC-${HASH})`,
  `-A KUBE-EXT-${HASH} -j ${OWN}`,
  `-A KUBE-FW-${HASH} ${comment(`${NAME} loadbalancer IP`)} -s (?:${CIDR}|${IP}) -j KUBE-EXT-${HASH}`,
  `-A KUBE-FW-${HASH} ${comment(`other traffic to ${NAME} will be dropped by KUBE-PROXY-FIREWALL`)}`,
  `-A ${SEP} -m comment --comment ${NAME} -s ${IP} -j KUBE-MARK-MASQ`,
  `-A ${SEP} -m comment --comment ${NAME}(?: -m recent --name ${SEP} --set)? ${PROTOCOL} -j DNAT --to-destination ${TO}`,
].map((shape) => new RegExp(`^${shape}$`));

const JUMP_LINES = new Set(JUMPS.flatMap(({ from, rule }) => [`-A ${from} ${rule}`, `-I ${from} ${rule}`]));

/** Undefined if the line has one of the shapes, and what stands in it for an address is one. */
export function oddLine(line: string): string | undefined {
  if (JUMP_LINES.has(line)) return undefined;
  for (const shape of SHAPES) {
    const match = shape.exec(line);
    if (!match) continue;
    const address = match.groups?.ip ?? match.groups?.to?.replace(/^\[|\]$/g, '');
    return address !== undefined && isIP(address) === 0 ? `${line} (not an address: ${address})` : undefined;
  }
  return line;
}
