// The lab as a picture in letters: nodes as boxes with their pods, then Services, then what to try.
import { inColumns } from '../../lib/columns.ts';
import { familyOf } from '../../lib/ip.ts';
import type { LabStatus, NodeStatus, ServiceStatus } from '../status.ts';

const NARROWEST = 34;

export function labMap(status: LabStatus): string {
  const { client, nodes, services } = status;
  return [
    ...sideBySide(nodes.map(nodeBox)),
    `  ${'─'.repeat(20)} lan ${'─'.repeat(20)} ${client.name} ${ipv4First(client.ips)}`,
    '',
    ...serviceTable(services),
    '',
  ].join('\n');
}

/** What shows the work of each mode. */
const LISTINGS: Readonly<Record<string, string>> = {
  iptables: 'iptables -v --numeric --table nat --list KUBE-SERVICES',
  nftables: 'nft list table ip kube-proxy',
  ipvs: 'ipvsadm --list --numeric',
  userspace: 'iptables -v --numeric --table nat --list KUBE-PORTALS-CONTAINER',
};

/** `program` is how this program is called here. */
export function thingsToTry({ nodes, url, consoleUrl, kubeconfig }: LabStatus, program = 'portolan'): string {
  const node = nodes[1] ?? nodes[0]!; // a worker, if there is one
  const rules = LISTINGS[node.mode ?? ''] ?? LISTINGS.iptables;
  return `API server  ${url}  (kubeconfig: ${kubeconfig})
Console     ${consoleUrl}

Three things to try, in another terminal:
  1. ${program} lab curl --from client http://${node.name}:30180/ --times 100
     ${program} lab curl --from customer http://summary.yaobank/ --times 100
  2. ${program} lab exec ${node.name} -- ${rules}
  3. ${program} lab kubectl -n yaobank scale deployment summary --replicas 5
     ... and then 1 and 2 again; or start a lesson: ${program} lab lesson 1

Ctrl-C here, or \`${program} lab down\`, removes everything.
`;
}

function nodeBox({ name, ips, mode, isHealthy, pods }: NodeStatus): string[] {
  const inside = [
    ipv4First(ips),
    `kube-proxy: ${mode ?? 'silent'}${isHealthy ? '' : ', not in sync'}`,
    ...pods.map(
      (pod) => `${shortName(pod.name)}  ${ipv4First(pod.ips)}${pod.phase === 'Running' ? '' : ` ${pod.phase}`}`,
    ),
  ];
  const width = Math.max(NARROWEST, ...inside.map((line) => line.length));
  return [
    `┌─ ${name} ${'─'.repeat(width - name.length - 1)}┐`,
    ...inside.map((line) => `│ ${line.padEnd(width)} │`),
    `└${'─'.repeat(width + 2)}┘`,
  ];
}

/** As many boxes in a row as fit, all of one height. */
function sideBySide(boxes: readonly (readonly string[])[]): string[] {
  const perRow = Math.max(1, Math.floor((process.stdout.columns || 120) / (NARROWEST + 6)));
  const rows: string[] = [];
  for (let i = 0; i < boxes.length; i += perRow) {
    const row = boxes.slice(i, i + perRow);
    const height = Math.max(...row.map((box) => box.length));
    const tall = row.map((box) => stretched(box, height));
    for (let line = 0; line < height; line++) rows.push(`  ${tall.map((box) => box[line]).join('  ')}`);
  }
  return rows;
}

function stretched(box: readonly string[], height: number): readonly string[] {
  const empty = `│${' '.repeat(box[0]!.length - 2)}│`;
  return [...box.slice(0, -1), ...new Array<string>(height - box.length).fill(empty), box.at(-1)!];
}

function serviceTable(services: readonly ServiceStatus[]): string[] {
  const rows = [
    ['SERVICE', 'TYPE', 'CLUSTER IP', 'PORTS', 'LOAD BALANCER'],
    ...services.map(({ namespace, name, type, ips, ports, ingress }) => [
      `${namespace}/${name}`,
      type,
      ipv4First(ips),
      ports.join(','),
      ingress.join(','),
    ]),
  ];
  return inColumns(rows).map((line) => `  ${line}`);
}

/** `customer-84fd6cfc55-dbz9s` keeps what tells it apart from its siblings. */
function shortName(pod: string): string {
  return pod.replace(/-[0-9a-z]{8,10}-([0-9a-z]{5})$/, '-…$1');
}

/** One address is enough for a map. */
function ipv4First(ips: readonly string[]): string {
  return ips.find((ip) => ip.includes('.') && familyOf(ip) === 'IPv4') ?? ips[0] ?? '';
}
