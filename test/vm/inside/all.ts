// Everything that needs a kernel with IPVS, in one process: starting one takes seconds in an emulated machine.
import { after, before, describe } from 'node:test';
import { type Bench, openBench } from './bench.ts';
import { lifeTests } from './life.ts';
import { packetTests } from './packets.ts';
import { stateTests } from './recorded-state.ts';
import { trafficTests } from './traffic.ts';
import { walkTests } from './walks.ts';

describe('IPVS mode in a kernel that has IPVS', () => {
  let bench: Bench;
  before(async () => {
    bench = await openBench();
  });
  after(() => bench.close());
  describe('recorded clusters: packets', () => packetTests(() => bench));
  describe('over time', () => lifeTests(() => bench));
  describe('counted', () => trafficTests(() => bench));
  describe('walked packets', () => walkTests(() => bench));
  describe('recorded state, as the system tools read it', stateTests);
});
