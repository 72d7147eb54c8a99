// Runs pods as a kubelet would, for the API server: each becomes a host of the network with an address of its node, files of
// its own, and a program behind its ports.

import type { PodRuntime } from '../apiserver/controllers/pods.ts';
import type { ApiServer } from '../apiserver/server.ts';
import type { Pod } from '../apiserver/types.ts';
import { hostFilesScript, hostFolder } from '../inside-host.ts';
import { type Cluster, type Node, podOn } from '../network/cluster.ts';
import type { Network } from '../network/network.ts';
import { AddressPool } from './address-pool.ts';
import { getPage } from './http.ts';
import { resolveFullName, resolveName } from './names.ts';
import type { Page, PodView } from './program.ts';
import { programFor } from './programs.ts';
import { serve } from './serve.ts';

const LOG_LINES = 1000;

interface Running {
  readonly host: string;
  readonly ips: readonly string[];
  readonly lines: string[];
  stopServing: () => void;
  readonly exited: (exitCode: number) => void;
}

export class LabPods implements PodRuntime {
  readonly #network: Network;
  readonly #cluster: Cluster;
  /** Where names are looked up; set once the API server, which needs us first, is there. */
  server: ApiServer | undefined;
  readonly #pools: Map<string, AddressPool>;
  readonly #running = new Map<string, Running>();

  constructor(network: Network, cluster: Cluster) {
    this.#network = network;
    this.#cluster = cluster;
    this.#pools = new Map(cluster.nodes.map((node) => [node.name, new AddressPool(node.podCIDRs)]));
  }

  async start(pod: Pod, exited: (exitCode: number) => void): Promise<{ readonly podIPs: readonly string[] }> {
    const uid = pod.metadata.uid!;
    const before = this.#running.get(uid); // a program that ended is started again in the pod that is there
    const node = this.#node(pod);
    const place =
      before ?? (pod.spec.hostNetwork ? { host: node.name, ips: node.ips } : await this.#addHost(pod, node));
    const running: Running = { ...place, lines: before?.lines ?? [], stopServing: () => {}, exited };
    this.#running.set(uid, running);
    running.stopServing = await this.#serve(pod, running);
    return { podIPs: running.ips };
  }

  async stop(pod: Pod): Promise<void> {
    const running = this.#running.get(pod.metadata.uid!);
    if (!running) return;
    this.#running.delete(pod.metadata.uid!);
    running.stopServing();
    if (pod.spec.hostNetwork) return;
    await this.#network.remove(running.host);
    await this.#network.exec(pod.spec.nodeName!, ['rm', '-rf', hostFolder(running.host)]);
    this.#pools.get(pod.spec.nodeName!)!.release(running.ips);
  }

  isReady(pod: Pod): Promise<boolean> {
    return Promise.resolve(this.#running.has(pod.metadata.uid!));
  }

  log(pod: Pod): Promise<string> {
    const lines = this.#running.get(pod.metadata.uid!)?.lines ?? [];
    return Promise.resolve(lines.map((line) => `${line}\n`).join(''));
  }

  /** Ends a pod's program as a crash would; it is started again. False if it does not run. */
  crash(pod: Pod): boolean {
    const running = this.#running.get(pod.metadata.uid!);
    running?.stopServing();
    running?.exited(137);
    return running !== undefined;
  }

  /** The host of the network that a pod is; undefined while it does not run. */
  hostOf(pod: Pod): string | undefined {
    return this.#running.get(pod.metadata.uid!)?.host;
  }

  /** Gets a page from a host, by a name that a pod of a namespace may use. */
  async get(host: string, namespace: string, url: string): Promise<Page> {
    const target = new URL(url);
    const name = target.hostname.replace(/^\[|\]$/g, '');
    const [ip = undefined] = /^[\d.]+$|:/.test(name) ? [name] : resolveName(this.server!, name, namespace);
    if (ip === undefined) throw new Error(`there is no name ${name} here`);
    return getPage(target, this.#network.connect(host, ip, Number(target.port || 80)));
  }

  async #addHost(pod: Pod, node: Node): Promise<{ readonly host: string; readonly ips: readonly string[] }> {
    const ips = this.#pools.get(node.name)!.take();
    const host = hostName(pod);
    const device = `veth${pod.metadata.uid!.replaceAll('-', '').slice(0, 8)}`;
    try {
      const files = hostFilesScript({
        name: host,
        hostname: pod.metadata.name,
        known: [{ name: pod.metadata.name, ips }],
        resolvConf: this.#resolvConf(pod.metadata.namespace ?? 'default'),
      });
      await Promise.all([
        this.#network.add(podOn(node, { name: host, ips, device })),
        this.#network.exec(node.name, ['sh'], { stdin: files }),
      ]);
      return { host, ips };
    } catch (error) {
      this.#pools.get(node.name)!.release(ips);
      throw error;
    }
  }

  async #serve(pod: Pod, { host, ips, lines }: Running): Promise<() => void> {
    const namespace = pod.metadata.namespace ?? 'default';
    const log = (line: string) => {
      lines.push(`${new Date().toISOString()} ${line}`);
      if (lines.length > LOG_LINES) lines.shift();
    };
    const view: PodView = {
      name: pod.metadata.name,
      namespace,
      node: pod.spec.nodeName!,
      ips,
      get: (url) => this.get(host, namespace, url),
      resolve: (name) => resolveFullName(this.server!, name),
      log,
    };
    const listeners = pod.spec.containers.flatMap(({ image = '', ports = [] }) =>
      programFor(image).listen(
        view,
        ports.map(({ containerPort, protocol = 'TCP' }) => ({ port: containerPort, protocol })),
      ),
    );
    return serve(this.#network, host, view, listeners);
  }

  #resolvConf(namespace: string): string {
    const [ip] = this.server ? resolveName(this.server, 'kube-dns.kube-system', namespace) : [];
    const search = `search ${namespace}.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n`;
    return ip ? `nameserver ${ip}\n${search}` : '';
  }

  #node(pod: Pod): Node {
    const node = this.#cluster.nodes.find(({ name }) => name === pod.spec.nodeName);
    if (!node) throw new Error(`node ${pod.spec.nodeName} is not part of this lab`);
    return node;
  }
}

/** Unlike its name, unique in the cluster. */
function hostName({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}.${name}`;
}
