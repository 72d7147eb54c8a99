// How does planning grow with the cluster? From nothing, after one endpoint changed, and as text.
import { resolveNode } from '../src/model/resolve.ts';
import { diff } from '../src/modes/iptables/diff.ts';
import { plan } from '../src/modes/iptables/plan.ts';
import { print } from '../src/modes/iptables/print.ts';
import { IDENTITY, nameOf, sliceOf, trackerOf } from './support/cluster.ts';
import { IPTABLES_FACTS } from './support/facts.ts';
import { medianOf } from './support/measure.ts';
import { count, duration, printTable, ratio } from './support/table.ts';

const SIZES = [100, 1_000, 10_000, 50_000];
const CHANGES = 2_000;

const measured = SIZES.map((services) => {
  const rounds = services > 5_000 ? { warmUp: 1, measured: 5 } : { warmUp: 20, measured: 21 };
  const fromNothing = medianOf(
    rounds,
    () => trackerOf(services),
    (tracker) => plan(resolveNode(tracker.take('IPv4'), IDENTITY), IPTABLES_FACTS),
  );

  const tracker = trackerOf(services);
  let model = resolveNode(tracker.take('IPv4'), IDENTITY);
  let planned = plan(model, IPTABLES_FACTS);
  const text = print(planned);
  const printing = medianOf(rounds, () => planned, print);

  const oneChange = medianEach(CHANGES, (version) => {
    const service = (version * 7919) % services;
    const slice = sliceOf(service, 2, version + 1);
    return () => {
      tracker.setSlice(`${nameOf(service)}-1`, slice);
      model = resolveNode(tracker.take('IPv4'), IDENTITY, model);
      const before = planned;
      planned = plan(model, IPTABLES_FACTS, before);
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
    'from nothing': duration(fromNothing.wallMs),
    'CPU time': duration(fromNothing.cpuMs),
    'per service': duration(fromNothing.cpuMs / services),
    ratio: ratio(fromNothing.cpuMs / services, smallest!.fromNothing.cpuMs / smallest!.services),
    'one endpoint changed': duration(oneChange),
    'ratio ': ratio(oneChange, smallest!.oneChange),
    'text printed': duration(printing.cpuMs),
    'lines per s': count((lines / printing.cpuMs) * 1000),
    'MB per s': count(bytes / printing.cpuMs / 1000),
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
