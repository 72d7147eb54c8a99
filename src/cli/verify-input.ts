// What verification needs, from the command line and from what that found out.
import type { Family } from '../lib/ip.ts';
import { neighbourhoodOf } from '../observe/verify/neighbourhood.ts';
import type { VerifyInput } from '../observe/verify/verify.ts';
import { noNames, parseQuestion } from './trace-options.ts';
import { type FamilySituation, SITUATION_OPTIONS } from './trace-situation.ts';
import { UsageError } from './usage-error.ts';

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

const OPTIONS = { ...SITUATION_OPTIONS, family: { type: 'string' } } as const;

/** The command line of those that look at a whole node: which objects, and in which families. */
export function parseNodeQuestion(command: string, args: readonly string[]) {
  const { options, names, isJson } = parseQuestion(command, args, OPTIONS);
  noNames(names);
  if (!options.help && !options.filename && options.kubeconfig === undefined)
    throw new UsageError('which objects? Give files with -f, or --kubeconfig');
  return { options, isJson, families: familiesOf(options.family) };
}

/** `ipv4`, `ipv6`, or nothing said: both. */
function familiesOf(text: string | undefined): readonly Family[] {
  if (text === undefined) return ['IPv4', 'IPv6'];
  if (text !== 'ipv4' && text !== 'ipv6') throw new UsageError(`--family ${text}: must be ipv4 or ipv6`);
  return text === 'ipv4' ? ['IPv4'] : ['IPv6'];
}
