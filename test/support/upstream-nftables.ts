// A table as upstream's kube-proxy writes it in nftables mode: a chain for each service, named by a hash.

export interface UpstreamService {
  /** `shop/cart` */
  readonly name: string;
  readonly clusterIP: string;
  readonly nodePort: number;
  readonly endpointIPs: readonly string[];
}

/** For `nft -f`: the table of one service, port 80 of which leads to port 8080. */
export function upstreamNftables({ name, clusterIP, nodePort, endpointIPs }: UpstreamService): string {
  const chain = `AAAAAAAA-${name}/tcp/http`;
  const endpoints = endpointIPs.map((ip, i) => `${i} : ${ip} . 8080`).join(', ');
  return `
table ip kube-proxy {
  comment "rules for kube-proxy"
  set cluster-ips { type ipv4_addr; comment "Active ClusterIPs"; elements = { ${clusterIP} }; }
  map service-ips { type ipv4_addr . inet_proto . inet_service : verdict
    elements = { ${clusterIP} . tcp . 80 : goto service-${chain} }
  }
  map service-nodeports { type inet_proto . inet_service : verdict
    elements = { tcp . ${nodePort} : goto external-${chain} }
  }
  chain service-${chain} {
    meta l4proto tcp dnat ip to numgen random mod ${endpointIPs.length} map { ${endpoints} }
  }
  chain external-${chain} {
    meta mark set meta mark | 0x00004000
    goto service-${chain}
  }
  chain services {
    ip daddr @cluster-ips ip saddr != 10.244.0.0/16 meta mark set meta mark | 0x00004000
    ip daddr . meta l4proto . th dport vmap @service-ips
    ip daddr 192.168.50.1 meta l4proto . th dport vmap @service-nodeports
  }
  chain nat-prerouting { type nat hook prerouting priority -100; jump services; }
  chain nat-output { type nat hook output priority -100; jump services; }
  chain masquerading { meta mark & 0x00004000 != 0 meta mark set meta mark ^ 0x00004000 masquerade fully-random; }
  chain nat-postrouting { type nat hook postrouting priority 100; jump masquerading; }
}
`;
}
