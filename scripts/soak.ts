// Ten minutes of chaos with steady traffic; in the end every node's kernel must hold what the API says. Not part of the tests.
//
//   node scripts/soak.ts [--for 10m] [--mode iptables] [--families dual] [--seed N]
//
// Chaos strikes (src/lab/chaos), deployments are scaled up and down and Services come and go, while clients ask without pause. What they
// miss meanwhile is counted, not judged. Then everything is healed, and two things are asked: does every client get an
// answer again, and does `portolan verify` find, in every node and family, that the kernel does what the objects say and
// holds nothing else? Ends with 0 if both are so.
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { clusterPlan, networksOf } from '../src/lab/addresses.ts';
import type { Deployment } from '../src/lab/apiserver/types.ts';
import { hostEnv, inHostArgv } from '../src/lab/inside-host.ts';
import { Lab } from '../src/lab/lab.ts';
import { inMilliseconds, parseDuration } from '../src/lib/duration.ts';
import type { Family } from '../src/lib/ip.ts';

const { values } = parseArgs({
  options: {
    for: { type: 'string', default: '10m' },
    mode: { type: 'string', default: 'iptables' },
    families: { type: 'string', default: 'dual' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const duration = parseDuration(values.for);
if ('problem' in duration) throw new Error(duration.problem);
const families: readonly Family[] = values.families === 'ipv4' ? ['IPv4'] : ['IPv4', 'IPv6'];

const SETTLE_MS = 60_000;
const TRAFFIC_PAUSE_MS = 50;
const CHURN_PAUSE_MS = 700;
const EXTRA_SERVICES = 20;
const QUESTIONS = [
  { from: 'client', url: 'http://node1:30180/' },
  { from: 'client', url: 'http://node2:30180/' },
  { from: 'coredns', url: 'http://summary.yaobank/' },
  { from: 'node2', url: 'http://customer.yaobank/' },
];

const random = seeded(Number(values.seed));
const networks = networksOf('kubeadm', families, {});
const lab = await Lab.open({ networks, cluster: clusterPlan(networks, 3), mode: values.mode, port: 0 });
const stopping = new AbortController();
process.once('SIGINT', () => stopping.abort());
let isGood = false;
try {
  await lab.ready();
  console.log(`${values.mode} mode, seed ${values.seed}: the lab is ready; chaos for ${values.for}`);
  const traffic = { answered: 0, missed: 0 };
  const over = new AbortController();
  const workers = [trafficLoop(over.signal, traffic), churnLoop(over.signal)];
  const faults = await rage(inMilliseconds(duration.duration));
  over.abort();
  await Promise.all(workers);
  console.log(`${faults} faults; ${traffic.answered} questions answered, ${traffic.missed} missed meanwhile`);
  isGood = (await everybodyIsServed()) && (await everyKernelIsRight());
} finally {
  await lab.close();
}
console.log(
  isGood ? 'Whole again: every client is served, and every kernel holds what the API says.' : 'Not whole again.',
);
process.exit(isGood ? 0 : 1);

/** Resolves to how many faults struck. */
async function rage(forMs: number): Promise<number> {
  let faults = 0;
  let reportedAt = Date.now();
  for await (const said of lab.chaos.rage(forMs, random)) {
    if (!said.startsWith('no longer')) faults++;
    if (Date.now() - reportedAt > 30_000) {
      reportedAt = Date.now();
      console.log(`  ${faults} faults so far; the last: ${said}`);
    }
    if (stopping.signal.aborted) break;
  }
  for await (const _said of lab.chaos.heal()); // where it was cut short
  return faults;
}

async function trafficLoop(signal: AbortSignal, count: { answered: number; missed: number }): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    if (await isAnswered(QUESTIONS[i % QUESTIONS.length]!)) count.answered++;
    else count.missed++;
    await delay(TRAFFIC_PAUSE_MS);
  }
}

async function isAnswered({ from, url }: (typeof QUESTIONS)[number]): Promise<boolean> {
  try {
    const { host, namespace } = lab.place(from);
    return (await lab.pods.get(host, namespace, url)).status === 200;
  } catch {
    return false; // who asks, or who should answer, is broken just now
  }
}

/** Scales a deployment or makes or removes a Service, again and again; in the end all is as in the beginning. */
async function churnLoop(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const choice = random();
    const name = `extra-${Math.floor(random() * EXTRA_SERVICES)}`;
    if (choice < 0.4) scale(['summary', 'customer'][Math.floor(random() * 2)]!, 1 + Math.floor(random() * 4));
    else if (choice < 0.8) lab.server.apply(extraService(name, random() < 0.3));
    else lab.server.delete('services', 'yaobank', name);
    await delay(CHURN_PAUSE_MS);
  }
  scale('summary', 2);
  scale('customer', 1);
}

function scale(name: string, replicas: number): void {
  const { status: _kept, ...deployment } = lab.server.get('deployments', 'yaobank', name) as Deployment;
  lab.server.apply({ ...deployment, spec: { ...deployment.spec, replicas } });
}

function extraService(name: string, hasAffinity: boolean) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'yaobank', name },
    spec: {
      type: 'NodePort',
      selector: { app: 'summary' },
      ports: [{ port: 80 }],
      sessionAffinity: hasAffinity ? 'ClientIP' : 'None',
      ipFamilyPolicy: 'PreferDualStack',
    },
  };
}

async function everybodyIsServed(): Promise<boolean> {
  await lab.ready();
  const served = await Promise.all(QUESTIONS.map((question) => eventually(() => isAnswered(question))));
  for (const [i, is] of served.entries()) if (!is) console.log(`no answer: ${JSON.stringify(QUESTIONS[i])}`);
  return served.every(Boolean);
}

async function everyKernelIsRight(): Promise<boolean> {
  const verify = [
    'portolan',
    'verify',
    '--live',
    '--kubeconfig',
    '/run/kubeconfig',
    '--config',
    '/run/kube-proxy.json',
  ];
  let isRight = true;
  for (const { name } of lab.cluster.nodes) {
    let said = '';
    const agrees = await eventually(async () => {
      const { status, stdout, stderr } = await lab.network.exec(name, inHostArgv(name, verify), { env: hostEnv(name) });
      said = stdout + stderr;
      return status === 0;
    });
    console.log(
      `${name}: ${agrees ? 'the kernel holds what the API says' : 'the kernel differs'}\n${said.replace(/^/gm, '  ')}`,
    );
    isRight &&= agrees;
  }
  return isRight;
}

/** Whether it comes true before patience ends. */
async function eventually(holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + SETTLE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) return false;
    await delay(1000);
  }
  return true;
}

/** mulberry32: the same faults in the same order for the same seed, as far as the cluster lets them. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
