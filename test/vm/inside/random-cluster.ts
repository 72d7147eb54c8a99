// A cluster that changes at random, the same way for the same seed: services of all kinds come, change and go.
import type { Manifest } from '../../support/golden.ts';

const SERVICES = 12;

export class RandomCluster {
  #state: number;
  readonly #objects = new Map<string, Manifest>();

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A few changes at once. */
  step(): { readonly apply: readonly Manifest[]; readonly gone: readonly Manifest[] } {
    const apply: Manifest[] = [];
    const gone: Manifest[] = [];
    for (let i = 1 + this.#below(3); i > 0; i--) {
      const name = `random-${this.#below(SERVICES)}`;
      const isThere = this.#objects.has(`Service ${name}`);
      const dice = this.#below(10);
      if (isThere && dice < 3) gone.push(this.#take(`Service ${name}`), this.#take(`EndpointSlice ${name}`));
      else if (isThere && dice < 7) apply.push(this.#keep(this.#slice(name)));
      else apply.push(this.#keep(this.#service(name)), this.#keep(this.#slice(name)));
    }
    const kept = new Set(this.#objects.values());
    return { apply: apply.filter((manifest) => kept.has(manifest)), gone };
  }

  all(): readonly Manifest[] {
    return [...this.#objects.values()];
  }

  #service(name: string): Manifest {
    const number = Number(name.slice('random-'.length));
    const type = ['ClusterIP', 'NodePort', 'LoadBalancer'][this.#below(3)]!;
    const policy = this.#below(2) === 0 ? 'Cluster' : 'Local';
    const nodePort = type === 'ClusterIP' ? {} : { nodePort: 32000 + number };
    return {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'random', name },
      spec: {
        type,
        clusterIP: `10.96.200.${number}`,
        ports: [{ name: 'p', port: 80 + this.#below(2), protocol: this.#below(3) === 0 ? 'UDP' : 'TCP', ...nodePort }],
        externalTrafficPolicy: type === 'ClusterIP' ? undefined : policy,
        internalTrafficPolicy: this.#below(4) === 0 ? 'Local' : 'Cluster',
        // Shared by two services, so that one may go while the other stays.
        externalIPs: this.#below(2) === 0 ? [`203.0.113.${number >> 1}`] : [],
        loadBalancerSourceRanges: this.#below(2) === 0 ? ['192.168.50.0/24', `172.20.0.${number}/32`] : [],
        sessionAffinity: this.#below(3) === 0 ? 'ClientIP' : 'None',
      },
      status: { loadBalancer: type === 'LoadBalancer' ? { ingress: [{ ip: `198.51.100.${number}` }] } : {} },
    };
  }

  #slice(name: string): Manifest {
    const service = this.#objects.get(`Service ${name}`);
    const [port] = (service?.spec?.ports ?? [{ protocol: 'TCP' }]) as readonly { readonly protocol: string }[];
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { namespace: 'random', name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'p', port: 8080, protocol: port!.protocol }],
      endpoints: Array.from({ length: this.#below(4) }, () => {
        const node = 1 + this.#below(2);
        return {
          addresses: [`10.244.${node}.${10 + this.#below(5)}`],
          conditions: { ready: this.#below(4) > 0 },
          nodeName: `n${node}`,
        };
      }),
    };
  }

  #keep(manifest: Manifest): Manifest {
    this.#objects.set(`${manifest.kind} ${manifest.metadata.name}`, manifest);
    return manifest;
  }

  #take(key: string): Manifest {
    const manifest = this.#objects.get(key)!;
    this.#objects.delete(key);
    return manifest;
  }

  /** A generator of Lehmer's kind: good enough to mix things up. */
  #below(limit: number): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state % limit;
  }
}
