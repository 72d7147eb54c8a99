// In: a plan.  Out: what the kernel would hold of it, in the words of ipvsadm --save, ipset save and iptables-restore.
import type { Protocol } from '../../api/objects.ts';
import { entryText } from '../../kernel/ipset-codec.ts';
import { IP_VS_SVC_F_PERSISTENT, IP_VS_SVC_F_SCHED_MH_PORT } from '../../kernel/ipvs-codec.ts';
import { hostCidr, hostPort } from '../../lib/ip.ts';
import { DEVICE } from './apply.ts';
import { JUMPS, restoreLines } from './chains.ts';
import type { WantedServer } from './part.ts';
import type { IpvsPlan } from './plan.ts';
import { kernelName, kernelSets } from './sets.ts';

export function print(plan: IpvsPlan): string {
  // Ensured one by one, each jump goes to the front; written at once, the last comes first.
  const rules = restoreLines(plan.rules, false, (table) =>
    JUMPS.filter((jump) => jump.table === table)
      .map(({ from, rule }) => `-A ${from} ${rule}`)
      .reverse(),
  );
  const sections = [
    ['virtual servers (ipvsadm --restore)', [...plan.wanted.servers.values()].flatMap(serverLines)],
    [`addresses of ${DEVICE}`, [...plan.wanted.addresses.values()].map(hostCidr)],
    ['sets (ipset restore)', setLines(plan)],
    ['rules (iptables-restore)', rules],
  ] as const;
  return `${sections.map(([title, lines]) => [`# ${title}`, ...lines].join('\n')).join('\n\n')}\n`;
}

const SERVICE_OPTION: Readonly<Record<Protocol, string>> = { TCP: '-t', UDP: '-u', SCTP: '--sctp-service' };

export function serverLines({
  protocol,
  ip,
  port,
  scheduler,
  flags,
  timeoutSeconds,
  backends,
}: WantedServer): string[] {
  const key = `${SERVICE_OPTION[protocol]} ${hostPort(ip, port)}`;
  const persistent = flags & IP_VS_SVC_F_PERSISTENT ? ` -p ${timeoutSeconds}` : '';
  const hashing = flags & IP_VS_SVC_F_SCHED_MH_PORT ? ' -b mh-port' : '';
  return [
    `-A ${key} -s ${scheduler}${persistent}${hashing}`,
    ...backends.map((backend) => `-a ${key} -r ${hostPort(backend.ip, backend.port)} -m -w 1`),
  ];
}

function setLines({ wanted, facts: { family } }: IpvsPlan): string[] {
  const entries = Map.groupBy(wanted.entries.values(), ({ set }) => kernelName(set, family));
  return kernelSets(family)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, type }) => {
      const size = 'hashsize 1024 maxelem 65536';
      const parameters =
        type === 'bitmap:port' ? 'range 0-65535' : `family ${family === 'IPv4' ? 'inet' : 'inet6'} ${size}`;
      const added = (entries.get(name) ?? []).map(({ entry }) => `add ${name} ${entryText(entry)}`);
      return [`create ${name} ${type} ${parameters}`, ...added];
    });
}
