// External traffic policy Local is for clients outside: pods and processes of this node may use every endpoint. A virtual
// server has one list of real servers, so these clients are led on to the cluster IP, whose list is the other one.
import { hostPort } from '../../lib/ip.ts';
import type { ServicePort } from '../../model/model.ts';
import type { IpvsFacts } from './facts.ts';
import { kernelName } from './sets.ts';

/** Rules of KUBE-LOCAL-CLIENTS, which only local clients' packets enter; none where the policy is Cluster. */
export function localClientRules(port: ServicePort, facts: IpvsFacts): string[] {
  const cluster = port.frontends.find((frontend) => frontend.kind === 'cluster-ip');
  if (cluster?.kind !== 'cluster-ip' || !port.external.shortCircuitsLocalClients) return [];
  const target = `-j DNAT --to-destination ${hostPort(cluster.ip, cluster.port)}`;
  const protocol = port.protocol.toLowerCase();
  return port.frontends.flatMap((frontend) => {
    if (frontend.kind === 'cluster-ip') return [];
    const ips = frontend.kind === 'node-port' ? facts.nodePortAddresses : [frontend.ip];
    const guards = frontend.kind === 'load-balancer-ip' ? admissions(port, facts) : [''];
    return ips.flatMap((ip) =>
      guards.flatMap((guard) => {
        const match = `-A KUBE-LOCAL-CLIENTS -d ${ip} -p ${protocol} -m ${protocol} --dport ${frontend.port}${guard}`;
        return [
          `${match}${facts.masqueradeAll ? '' : ' -m addrtype --src-type LOCAL'} -j KUBE-MARK-MASQ`,
          `${match} ${target}`,
        ];
      }),
    );
  });
}

/** The source ranges are enforced on the address that was dialled, which these packets are about to lose. Those that the
 *  ranges do not admit go on to the firewall with their address unchanged. */
function admissions({ sourceRanges, sourceRangesIncludeNode }: ServicePort, { family }: IpvsFacts): string[] {
  if (sourceRanges.length === 0) return [''];
  const match = (set: 'LOAD-BALANCER-SOURCE-CIDR' | 'LOAD-BALANCER-SOURCE-IP'): string =>
    ` -m set --match-set ${kernelName(set, family)} dst,dst,src`;
  return [match('LOAD-BALANCER-SOURCE-CIDR'), ...(sourceRangesIncludeNode ? [match('LOAD-BALANCER-SOURCE-IP')] : [])];
}
