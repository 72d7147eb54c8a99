// The modes that a lab's agents can work in, as far as the kernel has what each needs.

export const MODES: readonly string[] = ['iptables', 'nftables', 'ipvs', 'userspace'];
