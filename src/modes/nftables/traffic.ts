// What the rows have counted.  In: the table.  Out: new connections, and the bytes of their first packets, for every address and each
// of its endpoints. A row that is rewritten counts from nothing again, so totals are kept here, from reading to reading. Where a Service has session affinity,
// clients that are remembered are counted at the address, not at the endpoint.
import { hostPort } from '../../lib/ip.ts';
import type { FrontendKind, ServicePort } from '../../model/model.ts';
import type { NftablesDriver } from './apply.ts';
import { allLists, type Claim, frontendKey } from './claims.ts';
import type { NftablesPlan } from './plan.ts';
import { endpointRows } from './rows.ts';
import { fixedSets } from './sets.ts';

export interface Count {
  readonly connections: bigint;
  readonly bytes: bigint;
}

export interface FrontendTraffic extends Count {
  readonly port: ServicePort;
  readonly kind: FrontendKind;
  /** `10.96.0.10:53`, or `:30053` for a node port. */
  readonly address: string;
  /** By `ip:port`. */
  readonly endpoints: ReadonlyMap<string, Count>;
}

interface RowCount extends Count {
  readonly value: string;
}

const UNCOUNTED: RowCount = { connections: 0n, bytes: 0n, value: '' };

export class TrafficTotals {
  /** By row, as it was last read. */
  #rows: ReadonlyMap<string, RowCount> = new Map();
  #totals: ReadonlyMap<string, Count> = new Map();

  /** Reads every counted row. The plan must be the one that the kernel holds. */
  async read(driver: NftablesDriver, plan: NftablesPlan): Promise<FrontendTraffic[]> {
    const reading: Reading = { rows: await readCounts(driver), totals: new Map() };
    const traffic = Array.from(plan.index.claims(), (claim) => this.#traffic(claim, reading));
    this.#rows = reading.rows;
    this.#totals = reading.totals; // those who are gone are forgotten
    return traffic;
  }

  #traffic(claim: Claim, reading: Reading): FrontendTraffic {
    const { port, frontend } = claim;
    const isNodePort = frontend.kind === 'node-port';
    const address = isNodePort ? `:${frontend.port}` : hostPort(frontend.ip, frontend.port);
    const name = `${port.displayName} ${port.protocol} ${address}`;
    const endpoints = new Map<string, Count>();
    for (const list of allLists(claim)) {
      for (const [i, { set, key }] of endpointRows(claim, list).entries()) {
        const endpoint = list.backends[i]!.address;
        endpoints.set(endpoint, this.#add(`${name} ${endpoint}`, `${set} ${key}`, reading));
      }
    }
    const own = this.#add(name, `${isNodePort ? 'service-nodeports' : 'service-ips'} ${frontendKey(claim)}`, reading);
    return { port, kind: frontend.kind, address, endpoints, ...own };
  }

  /** What was counted since the last reading goes to the total. A row that says something else was written anew since then,
   *  and so was one that has counted less. */
  #add(name: string, row: string, { rows, totals }: Reading): Count {
    const now = rows.get(row) ?? UNCOUNTED;
    const before = this.#rows.get(row) ?? UNCOUNTED;
    const isSameRow = now.value === before.value && now.connections >= before.connections;
    const since = isSameRow ? before : UNCOUNTED;
    const total = totals.get(name) ?? this.#totals.get(name) ?? UNCOUNTED;
    const sum = {
      connections: total.connections + now.connections - since.connections,
      bytes: total.bytes + now.bytes - since.bytes,
    };
    totals.set(name, sum);
    return sum;
  }
}

interface Reading {
  readonly rows: ReadonlyMap<string, RowCount>;
  readonly totals: Map<string, Count>;
}

async function readCounts({ nftables, table, hasCounters }: NftablesDriver): Promise<Map<string, RowCount>> {
  const counts = new Map<string, RowCount>();
  const sets = fixedSets({ family: table.family, hasCounters, hasNodePortIps: false }).filter((set) => set.hasCounters);
  for (const set of sets) {
    for (const { key, value = '', packets = 0n, bytes = 0n } of await nftables.listElements(table, set)) {
      counts.set(`${set.name} ${key}`, { connections: packets, bytes, value });
    }
  }
  return counts;
}
