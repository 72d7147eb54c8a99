// In: the texts of `ipset save` and `ipvsadm -Sn`, one after the other, perhaps among those of other tools: as `portolan render` prints them
// for IPVS mode.  Out: what they say stands beside rules, or why nothing can be told.
import { IP_VS_SVC_F_PERSISTENT, type VirtualServer } from '../../kernel/ipvs-codec.ts';
import { type Family, familyOf, parseIp } from '../../lib/ip.ts';
import type { Address } from '../../modes/ipvs/part.ts';
import { kernelName } from '../../modes/ipvs/sets.ts';
import type { Beside, IpSet } from '../trace/ruleset.ts';
import { besideOf, type HeldServer } from './ipvs-rules.ts';

export function parseIpvsText(text: string, family: Family): Beside | string {
  const sets = setsIn(text);
  if (sets.size === 0) return 'rules alone tell nothing of IPVS mode; add the texts of ipset save and ipvsadm -Sn';
  // The addresses of kube-ipvs0 are in a set too.
  const addresses = sets.get(kernelName('IPVS-IPS', family))?.entries ?? [];
  const beside = besideOf([], serversIn(text, family), [...addresses]);
  return { ...beside, ipSets: sets };
}

function setsIn(text: string): ReadonlyMap<string, IpSet> {
  const entries = Map.groupBy(text.matchAll(/^add (\S+) (\S+)/gm), ([, set]) => set!);
  return new Map(
    [...text.matchAll(/^create (\S+) (\S+)/gm)].map(([, name, type]) => [
      name!,
      { name: name!, type: type!, entries: new Set((entries.get(name!) ?? []).map(([, , entry]) => entry!)) },
    ]),
  );
}

const PROTOCOLS = { '-t': 'TCP', '-u': 'UDP', '--sctp-service': 'SCTP' } as const;

function serversIn(text: string, family: Family): readonly HeldServer[] {
  const backends = Map.groupBy(
    text.matchAll(/^-a (-t|-u|--sctp-service) (\S+) -r (\S+) .*-w (\d+)/gm),
    ([, option, address]) => `${option} ${address}`,
  );
  return [...text.matchAll(/^-A (-t|-u|--sctp-service) (\S+) -s (\S+)(.*)$/gm)].flatMap(
    ([, option, at, scheduler, rest]): HeldServer[] => {
      const address = addressOf(at!);
      if (!address || familyOf(address.ip) !== family) return [];
      const timeoutSeconds = Number(/ -p (\d+)/.exec(rest!)?.[1] ?? 0);
      const server: VirtualServer = {
        ...address,
        protocol: PROTOCOLS[option as keyof typeof PROTOCOLS],
        scheduler: scheduler!,
        flags: timeoutSeconds > 0 ? IP_VS_SVC_F_PERSISTENT : 0,
        timeoutSeconds,
      };
      const behind = (backends.get(`${option} ${at}`) ?? []).flatMap(([, , , to, weight]) => {
        const backend = addressOf(to!);
        return backend ? [{ ...backend, weight: Number(weight) }] : [];
      });
      return [{ server, backends: behind }];
    },
  );
}

/** `10.96.0.1:80`, `[fd00::1]:80` */
function addressOf(text: string): Address | undefined {
  const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
  const ip = host && parseIp(host);
  return ip ? { ip, port: Number(port) } : undefined;
}
