// A running lab: the network, the API server, the agents and the pods, and the order in which they begin and end.
// In: nodes and their addresses, and which mode. Out: a cluster, if one is patient, and `close`, which leaves nothing.
import { setTimeout as delay } from 'node:timers/promises';
import { CLIENT, type Networks } from './addresses.ts';
import { kubeconfigText } from './apiserver/kubeconfig.ts';
import { type ApiServer, startApiServer } from './apiserver/server.ts';
import type { Deployment, Pod } from './apiserver/types.ts';
import { Chaos } from './chaos/chaos.ts';
import { API_PORT, NodeAgent } from './cluster/agent.ts';
import { firstApplications } from './cluster/manifests.ts';
import { nodeObjects } from './cluster/nodes.ts';
import { type LabConsole, startLabConsole } from './console.ts';
import { LabRefusal } from './control.ts';
import { findPlace, type Place, type RunningPod } from './hosts.ts';
import { hostFilesScript } from './inside-host.ts';
import { type Cluster, clusterOf } from './network/cluster.ts';
import { Network } from './network/network.ts';
import { LabPods } from './pods/runtime.ts';

export interface LabOptions {
  readonly networks: Networks;
  readonly cluster: Cluster;
  readonly mode: string;
  /** The API server's on this machine's loopback; 0 takes any. */
  readonly port: number;
}

const READY_TIMEOUT_MS = 180_000;
const TELL_EVERY_MS = 10_000;

export class Lab {
  readonly options: LabOptions;
  readonly cluster: Cluster;
  readonly network: Network;
  readonly server: ApiServer;
  readonly pods: LabPods;
  readonly agents: ReadonlyMap<string, NodeAgent>;
  readonly chaos: Chaos;
  #console: LabConsole | undefined;
  #isClosing = false;

  static async open(options: LabOptions): Promise<Lab> {
    const { cluster } = options;
    const network = await Network.open(clusterOf(cluster));
    let server: ApiServer | undefined;
    try {
      const pods = new LabPods(network, cluster);
      server = await startApiServer({
        port: options.port,
        serviceCIDRs: options.networks.services,
        runtime: pods,
        advertise: { ip: cluster.nodes[0]!.ips[0]!, port: API_PORT },
        connectToNode: (name, port) => network.connect(name, '127.0.0.1', port),
      });
      pods.server = server;
      const lab = new Lab(options, cluster, network, server, pods);
      await lab.#begin();
      return lab;
    } catch (error) {
      await server?.close();
      await network.close();
      throw error;
    }
  }

  private constructor(options: LabOptions, cluster: Cluster, network: Network, server: ApiServer, pods: LabPods) {
    this.options = options;
    this.cluster = cluster;
    this.network = network;
    this.server = server;
    this.pods = pods;
    const settings = { mode: options.mode, podCIDRs: options.networks.pods };
    this.agents = new Map(cluster.nodes.map(({ name }) => [name, new NodeAgent(network, name, settings)]));
    this.chaos = new Chaos(this);
  }

  /** The page for all nodes. */
  get consoleUrl(): string {
    return this.#console!.url;
  }

  /** Resolves when every first application runs and every agent has written its rules, or when the lab is closed. Who waits long is
   *  told what for. */
  async ready(onWaiting: (awaited: string) => void = () => {}): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS;
    let tellAt = Date.now() + TELL_EVERY_MS;
    while (!this.#isClosing) {
      const awaited = await this.#awaited();
      if (awaited === undefined) return;
      const hopeless = [...this.agents.values()].find(({ failure }) => failure !== undefined);
      if (hopeless) throw new LabRefusal(hopelessness(hopeless));
      if (Date.now() > deadline) throw new LabRefusal(this.#complaint(awaited));
      if (Date.now() > tellAt) {
        onWaiting(awaited);
        tellAt += TELL_EVERY_MS;
      }
      await delay(50);
    }
  }

  /** A place by the name people use; throws a LabRefusal if there is none. */
  place(wanted: string): Place {
    const hosts = [...this.cluster.nodes.map(({ name }) => name), this.cluster.client.name];
    const found = findPlace(wanted, hosts, this.runningPods());
    if ('problem' in found) throw new LabRefusal(found.problem);
    return found;
  }

  runningPods(): readonly RunningPod[] {
    return (this.server.list('pods') as Pod[]).flatMap((pod) => {
      const host = this.pods.hostOf(pod);
      return host === undefined ? [] : [{ pod, host }];
    });
  }

  /** Has a node's agent, or every one, work in another mode. Where that cannot be, all stays as it was. */
  async changeMode(mode: string, node?: string): Promise<void> {
    if (node !== undefined && !this.agents.has(node)) throw new LabRefusal(`no node is called ${node}`);
    const asked = [...this.agents.values()].filter((agent) => node === undefined || agent.node === node);
    const agents = asked.filter((agent) => agent.mode !== mode);
    const before = agents.map((agent) => ({ agent, mode: agent.mode }));
    await Promise.all(agents.map((agent) => agent.changeMode(mode)));
    try {
      await this.ready();
    } catch (refusal) {
      await Promise.all(before.map(({ agent, mode }) => agent.changeMode(mode)));
      await this.ready();
      throw refusal;
    }
  }

  /** Resolves when nothing of the lab is left. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#console?.close();
    await Promise.all([...this.agents.values()].map((agent) => agent.stop()));
    await this.server.close();
    await this.network.close();
  }

  async #begin(): Promise<void> {
    const { nodes, client } = this.cluster;
    await Promise.all([...nodes.map(({ name }) => this.#prepareNode(name)), this.#writeFiles(client.name, {})]);
    this.server.seed(nodeObjects(this.cluster, new Date()));
    this.server.seed(firstApplications(this.options.networks.services));
    await Promise.all([...this.agents.values()].map((agent) => agent.start()));
    this.#console = await startLabConsole({
      nodes: nodes.map(({ name }) => ({ name, connect: (port) => this.network.connect(name, '127.0.0.1', port) })),
    });
  }

  /** Its files, and its way to the API server: on its own loopback, and for the Service `kubernetes` on the control plane. */
  async #prepareNode(name: string): Promise<void> {
    const control = this.cluster.nodes[0]!;
    await this.network.forward(name, API_PORT, this.server.port);
    if (name === control.name) await this.network.forward(name, API_PORT, this.server.port, control.ips[0]);
    await this.#writeFiles(name, {
      kubeconfig: kubeconfigText({ url: `http://127.0.0.1:${API_PORT}` }),
    });
  }

  async #writeFiles(name: string, more: Readonly<Record<string, string>>): Promise<void> {
    const { nodes, client } = this.cluster;
    const script = hostFilesScript({ name, hostname: name, known: [...nodes, client], resolvConf: '', more });
    const { status, stderr } = await this.network.exec(name, ['sh'], { stdin: script });
    if (status !== 0) throw new Error(`the files of ${name} could not be written: ${stderr}`);
  }

  /** What is not there yet; undefined if all is. */
  async #awaited(): Promise<string | undefined> {
    const deployments = this.#waitingDeployments();
    if (deployments.length > 0) return deployments.join(', ');
    const agents = [...this.agents.values()];
    const healthy = await Promise.all(agents.map((agent) => agent.isHealthy()));
    const late = agents.filter((_, i) => !healthy[i]).map(({ node }) => node);
    if (late.length > 0) return `kube-proxy on ${late.join(', ')}`;
    const url = `http://${this.cluster.entry}:30180/`;
    const page = await this.pods.get(CLIENT, 'default', url).catch(() => undefined);
    return page?.status === 200 ? undefined : `the page at ${url}`;
  }

  #waitingDeployments(): string[] {
    return (this.server.list('deployments') as Deployment[])
      .filter(({ spec, status }) => (status?.availableReplicas ?? 0) < (spec.replicas ?? 1))
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  }

  #complaint(awaited: string): string {
    const logs = [...this.agents.values()].map(({ node, log }) => `--- the agent of ${node} said:\n${log}`);
    const seconds = READY_TIMEOUT_MS / 1000;
    return `the lab did not become ready in ${seconds} s; it waits for ${awaited}\n${logs.join('\n')}`;
  }
}

function hopelessness({ node, mode, failure }: NodeAgent): string {
  const hint = mode === 'ipvs' ? '; `npm run test:vm` runs this mode in a virtual machine whose kernel has it' : '';
  return `kube-proxy cannot run on ${node}: ${failure?.trimEnd()}${hint}`;
}
