// How a packet is judged to come from a pod on this node. Data here; each mode writes it in its own words.

export type LocalDetector =
  | { readonly kind: 'source'; readonly cidr: string }
  | { readonly kind: 'interface'; readonly name: string }
  | { readonly kind: 'interface-prefix'; readonly prefix: string }
  | { readonly kind: 'none' }; // nothing is known: neither local nor foreign may be claimed
