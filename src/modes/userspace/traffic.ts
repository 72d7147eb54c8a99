// What the relays have counted, by service port.  In: the model and the relays' totals.  Out: connections and bytes of each port and each
// of its endpoints. A relay does not see which of a port's addresses a client dialled, so these are one.
import type { NodeModel, ServicePort } from '../../model/model.ts';
import { NO_TRAFFIC, type RelayTotals, type Traffic, together } from './connections.ts';
import { isRelayed } from './plan.ts';
import { type RelayList, relayKey } from './rules.ts';

export interface PortTraffic extends Traffic {
  readonly port: ServicePort;
  /** By `ip:port`: all that the port has now. */
  readonly backends: ReadonlyMap<string, Traffic>;
}

const LISTS: readonly RelayList[] = ['cluster', 'local'];

export function portTraffic(model: NodeModel, totals: readonly RelayTotals[]): PortTraffic[] {
  const byRelay = new Map(totals.map((total) => [total.relay, total]));
  return [...model.services.values()].flatMap(({ ports }) =>
    ports.filter(isRelayed).map((port): PortTraffic => {
      const relays = LISTS.flatMap((list) => byRelay.get(relayKey(port, list)) ?? []);
      const addresses = new Set(LISTS.flatMap((list) => port.backends[list].map(({ address }) => address)));
      const at = (address: string): Traffic[] => relays.flatMap(({ backends }) => backends.get(address) ?? []);
      return {
        port,
        ...relays.reduce<Traffic>(together, NO_TRAFFIC),
        backends: new Map([...addresses].map((address) => [address, at(address).reduce(together, NO_TRAFFIC)])),
      };
    }),
  );
}
