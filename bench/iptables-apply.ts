// How long does iptables-restore take: for everything, and for one endpoint that changed? With both variants, in a network
// namespace of its own.
import { Iptables } from '../src/kernel/iptables.ts';
import { Network } from '../src/lab/network/network.ts';
import { resolveNode } from '../src/model/resolve.ts';
import { kernelState } from '../src/modes/iptables/apply.ts';
import { diff } from '../src/modes/iptables/diff.ts';
import { plan } from '../src/modes/iptables/plan.ts';
import { runIn } from '../test/support/iptables-node.ts';
import { IDENTITY, nameOf, sliceOf, trackerOf } from './support/cluster.ts';
import { IPTABLES_FACTS } from './support/facts.ts';
import { medianMsAsync } from './support/measure.ts';
import { count, duration, printTable, ratio } from './support/table.ts';

const SIZES = [100, 1_000, 5_000];
const ROUNDS = { warmUp: 1, measured: 5 };

const network = await Network.open({ hosts: [{ name: 'n1' }], links: [] });
const rows: Record<string, string>[] = [];
try {
  for (const variant of ['nft', 'legacy'] as const) {
    let smallest: { readonly full: number; readonly one: number } | undefined;
    for (const services of SIZES) {
      const iptables = new Iptables('IPv4', variant, runIn(network, 'n1'));
      await flush(`${iptables.name}-restore`);
      const tracker = trackerOf(services);
      let model = resolveNode(tracker.take('IPv4'), IDENTITY);
      let planned = plan(model, IPTABLES_FACTS);
      const { lines } = diff(kernelState(''), planned);

      const startedAt = performance.now();
      await iptables.restore(lines);
      const full = performance.now() - startedAt;

      let written = 0;
      const one = await medianMsAsync(ROUNDS, async (round) => {
        const service = (round * 7919) % services;
        tracker.setSlice(`${nameOf(service)}-1`, sliceOf(service, 2, round + 1));
        model = resolveNode(tracker.take('IPv4'), IDENTITY, model);
        const before = planned;
        planned = plan(model, IPTABLES_FACTS, before);
        const change = diff(before, planned);
        written = change.lines.length;
        await iptables.restore(change.lines);
      });
      const nothing = await medianMsAsync(ROUNDS, () => iptables.restore(['*nat', 'COMMIT']));
      smallest ??= { full: full / services, one };
      rows.push({
        variant,
        services: count(services),
        lines: count(lines.length),
        'full restore': duration(full),
        'per service': duration(full / services),
        ratio: ratio(full / services, smallest.full),
        'one endpoint': duration(one),
        'ratio ': ratio(one, smallest.one),
        'lines ': count(written),
        'empty restore': duration(nothing),
      });
    }
  }
} finally {
  await network.close();
}
printTable('iptables-restore, Services of 2 endpoints (one full restore; median of the small ones)', rows);
console.log(
  '\nratio: to the smallest cluster of the same variant. An empty restore is what the program costs by itself.',
);

async function flush(program: string): Promise<void> {
  await network.exec('n1', [program], {
    stdin: ['mangle', 'filter', 'nat'].map((table) => `*${table}\nCOMMIT\n`).join(''),
  });
}
