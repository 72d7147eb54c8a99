// Everything that needs a kernel with IPVS, in one process: starting one takes seconds in an emulated machine.
import { after, before, describe } from 'node:test';
import { AgentBed } from '../../support/agent-bed.ts';
import { agentTests } from './agent.ts';
import { clusterTests } from './agent-clusters.ts';
import { type Bench, openBench } from './bench.ts';
import { lifeTests } from './life.ts';
import { packetTests } from './packets.ts';
import { stateTests } from './recorded-state.ts';
import { switchTests } from './switch.ts';
import { trafficTests } from './traffic.ts';
import { upstreamTests } from './upstream.ts';
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

describe('the agent in IPVS mode', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open();
  });
  after(() => bed.close());
  describe('its life', () => agentTests(() => bed));
  describe('changes of mode under load', () => switchTests(() => bed));
  describe('recorded clusters', () => clusterTests(() => bed));
  describe("after upstream's kube-proxy, under load", () => upstreamTests(() => bed));
});
