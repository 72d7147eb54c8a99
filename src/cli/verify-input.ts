// What verification needs, from what the command line found out.
import type { Family } from '../lib/ip.ts';
import { neighbourhoodOf } from '../observe/verify/neighbourhood.ts';
import type { VerifyInput } from '../observe/verify/verify.ts';
import type { FamilySituation } from './trace-situation.ts';

export function verifyInputOf(here: FamilySituation): VerifyInput {
  const { view, setup, scope, detector, nodePortAddresses, book, host, planned, held, origins } = here;
  return {
    model: view.model,
    setup,
    around: neighbourhoodOf(view.model, book, {
      nodeIp: host.address,
      hostIps: here.hostIps,
      podCIDRs: view.settings.podCIDRs,
      detector,
      nodePortAddresses,
      serviceIps: planned.addresses,
    }),
    host,
    planned,
    held,
    origins,
    book,
    scope,
  };
}

/** `ipv4`, `ipv6`, or nothing said: those in which the cluster has services. */
export function familiesOf(text: string | undefined): readonly Family[] | undefined {
  if (text === undefined) return ['IPv4', 'IPv6'];
  return text === 'ipv4' ? ['IPv4'] : text === 'ipv6' ? ['IPv6'] : undefined;
}
