// Whatever objects say, iptables-restore takes what is made of them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { Network } from '../../src/lab/network/network.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import type { Manifest } from '../support/golden.ts';
import { malformedStream, WHOLE_SERVICE, WHOLE_SLICE } from '../support/malformed.ts';
import { rulesOf, takeAll } from '../support/malformed-plan.ts';

const SEED = 20260116;

describe(`iptables-restore takes what is made of malformed objects, seed ${SEED}`, () => {
  let network: Network;
  before(async () => {
    network = await Network.open({ hosts: [{ name: 'n1' }], links: [] });
  });
  after(() => network.close());

  for (const variant of ['nft', 'legacy']) {
    for (const family of FAMILIES) {
      test(`of any shape, ${family}, ${variant}`, async () => {
        for (const stream of fc.sample(malformedStream, { seed: SEED, numRuns: 40 })) {
          const { tracker } = takeAll([
            ...stream,
            ...[WHOLE_SERVICE, WHOLE_SLICE].map((raw) => ({ kind: raw.kind, raw })),
          ]);
          await assertTaken(family, variant, rulesOf(tracker, family));
        }
      });

      test(`with the longest names there may be, ${family}, ${variant}`, async () => {
        const { tracker, problems } = takeAll(longest(family).map((raw) => ({ kind: raw.kind, raw })));
        assert.deepEqual(problems, []);
        await assertTaken(family, variant, rulesOf(tracker, family));
      });
    }
  }

  async function assertTaken(family: Family, variant: string, text: string): Promise<void> {
    const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${variant}-restore`;
    const { status, stderr } = await network.exec('n1', [program, '--test'], { stdin: text });
    assert.equal(status, 0, `${stderr}\n${text.slice(0, 5000)}`);
  }
});

/** Every comment at its full length. */
function longest(family: Family): readonly Manifest[] {
  const name = 'n'.repeat(63);
  const ports = [{ name: 'p'.repeat(63), port: 65535, protocol: 'SCTP', nodePort: 65535 }];
  const ip = (number: number): string =>
    family === 'IPv4' ? `255.255.255.${200 + number}` : `2001:db8:1111:2222:3333:4444:5555:666${number}`;
  const spec = { ...WHOLE_SERVICE.spec, clusterIP: ip(1), clusterIPs: [ip(1)], ipFamilies: [family], ports };
  const ingress = [{ ip: ip(2) }];
  return [
    { kind: 'Service', metadata: { namespace: name, name }, spec, status: { loadBalancer: { ingress } } },
    {
      kind: 'EndpointSlice',
      metadata: { namespace: name, name, labels: { 'kubernetes.io/service-name': name } },
      addressType: family,
      ports,
      endpoints: [{ addresses: [ip(3)], nodeName: 'n1' }, { addresses: [ip(4)] }],
    },
  ];
}
