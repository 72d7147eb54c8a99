// An explanation for people.
import type { ChangeRecord } from '../observe/history.ts';
import type { Ink } from '../observe/trace/draw.ts';
import type { EndpointExplanation, PortExplanation, ServiceExplanation } from '../observe/trace/explain.ts';

export function explanationText({ service, node, family, ports, changes }: ServiceExplanation, ink: Ink): string {
  const lines = [
    ink.bold(`Service ${service}, ${family}, on node ${node || 'without a name'}`),
    ...ports.flatMap((port) => ['', ...portLines(port, ink)]),
    ...(changes.length > 0
      ? ['', ink.bold('last changes'), ...table(changes.map(changeRow)).map((line) => `    ${line}`)]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}

function portLines(port: PortExplanation, ink: Ink): readonly string[] {
  const policies = [
    `internalTrafficPolicy ${port.internalTrafficPolicy}`,
    ...(port.externalTrafficPolicy ? [`externalTrafficPolicy ${port.externalTrafficPolicy}`] : []),
    port.affinitySeconds > 0 ? `clients stay with an endpoint for ${port.affinitySeconds} s` : 'no session affinity',
    ...(port.sourceRanges.length > 0 ? [`load-balancer addresses only for ${port.sourceRanges.join(', ')}`] : []),
  ];
  return [
    ink.bold(`${port.port} ${port.protocol}`),
    ...section('addresses', table(port.addresses.map(({ address, kind }) => [address, kind.replaceAll('-', ' ')]))),
    ...section('policies', policies),
    ...section('endpoints', table(port.endpoints.map((endpoint) => endpointRow(endpoint, ink)))),
    ...section('who gets what', table(port.clients.map(({ client, address, gets }) => [client, `→ ${address}`, gets]))),
    ...section('remembered clients', table(port.remembered.map(({ client, endpoint }) => [client, `→ ${endpoint}`]))),
    ...section(
      'new connections',
      table(
        port.shares.map(({ endpoint, connections, observed, expected }) => [
          endpoint,
          String(connections),
          `${percent(observed)} of ${percent(expected)} expected`,
        ]),
      ),
    ),
    ...section('rules', port.rules.map(ink.dim)),
  ];
}

function changeRow({ at, stages, sinceChangeMs, wasFull }: ChangeRecord): readonly string[] {
  const times = Object.entries(stages).map(([stage, ms]) => `${stage} ${ms} ms`);
  const whole = sinceChangeMs === undefined ? '' : `in the kernel ${sinceChangeMs} ms after the change`;
  return [at, times.join(', '), wasFull ? 'all rules written' : whole];
}

function endpointRow(endpoint: EndpointExplanation, ink: Ink): readonly string[] {
  const used = endpoint.usedBy
    ? ink.good(`used by ${endpoint.usedBy}`)
    : ink.dim(`left out: ${endpoint.leftOutBecause}`);
  return [endpoint.address, endpoint.node ?? '', endpoint.target ?? '', `EndpointSlice ${endpoint.slice}`, used];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`)];
}

/** Columns as wide as their widest text; the last is not padded. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row.map((text, column) => (column === row.length - 1 ? text : text.padEnd(widths[column]!))).join('  '),
  );
}
