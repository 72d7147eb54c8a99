// How does planning grow with the cluster? From nothing, after one endpoint changed, and as text.
import { resolveNode } from '../src/model/resolve.ts';
import { diff } from '../src/modes/iptables/diff.ts';
import type { IptablesFacts } from '../src/modes/iptables/facts.ts';
import { plan } from '../src/modes/iptables/plan.ts';
import { print } from '../src/modes/iptables/print.ts';
import { IDENTITY, nameOf, sliceOf, trackerOf } from './support/cluster.ts';
import { medianMs } from './support/measure.ts';
import { count, duration, printTable, ratio } from './support/table.ts';

const SIZES = [100, 1_000, 10_000, 50_000];
const CHANGES = 2_000;

export const FACTS: IptablesFacts = {
  family: 'IPv4',
  masqueradeMark: 1 << 14,
  masqueradeAll: false,
  localhostNodePorts: true,
  nodePortAddresses: { kind: 'all' },
  detector: { kind: 'source', cidr: '10.128.0.0/9' },
  hasRandomFully: true,
  conntrackIsLiberal: false,
  counters: { invalidDropped: false, localhostNodePorts: false },
};

const measured = SIZES.map((services) => {
  const rounds = services > 5_000 ? { warmUp: 1, measured: 5 } : { warmUp: 20, measured: 21 };
  const fromNothing = medianMs(
    rounds,
    () => trackerOf(services),
    (tracker) => plan(resolveNode(tracker.take('IPv4'), IDENTITY), FACTS),
  );

  const tracker = trackerOf(services);
  let model = resolveNode(tracker.take('IPv4'), IDENTITY);
  let planned = plan(model, FACTS);
  const text = print(planned);
  const printing = medianMs(rounds, () => planned, print);

  const oneChange = medianEach(CHANGES, (version) => {
    const service = (version * 7919) % services;
    const slice = sliceOf(service, 2, version + 1);
    return () => {
      tracker.setSlice(`${nameOf(service)}-1`, slice);
      model = resolveNode(tracker.take('IPv4'), IDENTITY, model);
      const before = planned;
      planned = plan(model, FACTS, before);
      return diff(before, planned);
    };
  });
  return { services, fromNothing, oneChange, printing, lines: text.split('\n').length, bytes: text.length };
});

const [smallest] = measured;
printTable(
  'Planning iptables mode, Services of 2 endpoints (median)',
  measured.map(({ services, fromNothing, oneChange, printing, lines, bytes }) => ({
    services: count(services),
    'from nothing': duration(fromNothing),
    'per service': duration(fromNothing / services),
    ratio: ratio(fromNothing / services, smallest!.fromNothing / smallest!.services),
    'one endpoint changed': duration(oneChange),
    'ratio ': ratio(oneChange, smallest!.oneChange),
    'text printed': duration(printing),
    'lines per s': count((lines / printing) * 1000),
    'MB per s': count(bytes / printing / 1000),
  })),
);
console.log(
  '\nratio: to the smallest cluster of this run; 1.00x throughout means that the cost follows the size of the change.',
);

/** The median over many different changes, each made once: there is no collection between them, as in a running agent. */
function medianEach(changes: number, prepare: (change: number) => () => unknown): number {
  const times = Array.from({ length: changes }, (_, change) => {
    const run = prepare(change);
    const startedAt = performance.now();
    run();
    return performance.now() - startedAt;
  });
  return times.slice(changes / 4).sort((a, b) => a - b)[(changes * 3) >> 3]!;
}
