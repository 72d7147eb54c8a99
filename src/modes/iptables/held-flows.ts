// In: the text of iptables-save, as another proxy or an agent that was killed left it.  Out: where those rules led UDP flows.
// A service may have been deleted while nobody looked: its rules go with the first sync, and this tells whose flows go too.
import type { FlowTarget } from '../../flows/targets.ts';

const FRONTEND =
  /^-A KUBE-(?:SERVICES|NODEPORTS) (?:-d (\S+)\/\d+ )?-p udp .*--dport (\d+) .*-j KUBE-(?:SVC|SVL|EXT|FW)-/;
const ENDPOINT = /^-A KUBE-SEP-\S+ -p udp .*-j DNAT --to-destination (\S+)$/;

/** Every address with all UDP endpoints of the text: whose they were matters only to addresses that are still served, and
 *  those are judged by what serves them now. */
export function heldFlowTargets(save: string): readonly FlowTarget[] {
  const serving = new Set<string>();
  const targets: FlowTarget[] = [];
  for (const line of save.split('\n')) {
    const endpoint = ENDPOINT.exec(line);
    if (endpoint) serving.add(endpoint[1]!);
    const frontend = FRONTEND.exec(line);
    if (frontend) targets.push({ ip: frontend[1], port: Number(frontend[2]), serving });
  }
  return targets;
}
