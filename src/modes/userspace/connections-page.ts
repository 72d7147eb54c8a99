// Relayed connections as people read them. In: what the relays tell, and the time. Out: two tables, of those that are open and of those
// that ended lately, newest first.
import { inColumns } from '../../lib/columns.ts';
import type { Connection, EndedConnection } from './connections.ts';
import type { RelayedConnections } from './relay-host.ts';

const SHOWN_ENDED = 50;

export function connectionsText({ open, ended, mostOpen }: RelayedConnections, nowMs: number): string {
  const newest = ended.slice(-SHOWN_ENDED).reverse();
  return [
    `Open now: ${open.length} (the most at once: ${mostOpen})`,
    ...table(open.map((connection) => [...cells(connection), `for ${age(nowMs - connection.startedAtMs)}`])),
    '',
    `Ended lately: ${newest.length}`,
    ...table(newest.map((connection) => [...cells(connection), endOf(connection, nowMs)])),
    '',
  ].join('\n');
}

const HEAD = ['SERVICE', 'PROTOCOL', 'CLIENT', 'ENDPOINT', 'SENT', 'RECEIVED', 'STATE'];

function cells({ service, protocol, client, backend, ...connection }: Readonly<Connection>): string[] {
  return [
    service,
    protocol,
    client,
    backend ?? '-',
    String(connection.bytesToBackend),
    String(connection.bytesToClient),
  ];
}

function endOf({ outcome, endedAtMs, failedDials, lastFailure }: EndedConnection, nowMs: number): string {
  const dials = failedDials === 0 ? '' : `, after ${failedDials} in vain (${lastFailure})`;
  return `${outcome} ${age(nowMs - endedAtMs)} ago${dials}`;
}

function age(milliseconds: number): string {
  return `${Math.max(0, Math.round(milliseconds / 1000))}s`;
}

function table(rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : inColumns([HEAD, ...rows]);
}
