// The jumps from the kernel's own chains into ours. They are only ever added where missing: rules that others put in front
// of them stay there.

export type Table = 'mangle' | 'filter' | 'nat';

export interface Jump {
  readonly table: Table;
  readonly from: string;
  readonly to: string;
  /** The rule as iptables-save prints it, without `-A` and the chain's name. */
  readonly rule: string;
}

/** In the order upstream ensures them. Each missing one goes to the front, so on a clean host the last stands first. */
export const JUMPS: readonly Jump[] = [
  jump('filter', 'INPUT', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', 'NEW'),
  jump('filter', 'FORWARD', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', 'NEW'),
  jump('filter', 'INPUT', 'KUBE-NODEPORTS', 'kubernetes health check service ports'),
  jump('filter', 'FORWARD', 'KUBE-SERVICES', 'kubernetes service portals', 'NEW'),
  jump('filter', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals', 'NEW'),
  jump('filter', 'FORWARD', 'KUBE-FORWARD', 'kubernetes forwarding rules'),
  jump('filter', 'INPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', 'NEW'),
  jump('filter', 'OUTPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', 'NEW'),
  jump('filter', 'FORWARD', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', 'NEW'),
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', 'kubernetes service portals'),
  jump('nat', 'POSTROUTING', 'KUBE-POSTROUTING', 'kubernetes postrouting rules'),
  jump('filter', 'INPUT', 'KUBE-FIREWALL'),
  jump('filter', 'OUTPUT', 'KUBE-FIREWALL'),
];

function jump(table: Table, from: string, to: string, comment?: string, state?: 'NEW'): Jump {
  const match = `${state ? `-m conntrack --ctstate ${state} ` : ''}${comment ? `-m comment --comment "${comment}" ` : ''}`;
  return { table, from, to, rule: `${match}-j ${to}` };
}
