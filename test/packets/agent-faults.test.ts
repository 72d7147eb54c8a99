// What may go wrong between the agent and its API server, each while the cluster changes: afterwards the kernel holds what
// the API says, the agent still runs, and its log has told in one line what happened.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Faults } from '../../src/lab/apiserver/faults.ts';
import { until } from '../support/agent.ts';
import { AgentBed, complaints, service, slice } from '../support/agent-bed.ts';

interface Case {
  readonly about: string;
  /** Makes the trouble; what changes meanwhile is called in between. */
  readonly trouble: (faults: Faults, change: () => void) => void | Promise<void>;
  /** What the log says of it, once for each watch that it met. */
  readonly says: RegExp;
  readonly lines: number;
}

const WATCHES = 3; // nodes, services, endpointslices

const cases: readonly Case[] = [
  {
    about: 'connections cut in the middle of an event',
    trouble: (faults, change) => {
      faults.cutMidEvent({ resource: 'services', times: 1 });
      change();
    },
    says: /"Watch interrupted" resource="services"/,
    lines: 1,
  },
  {
    about: 'all connections cut at once',
    trouble: (faults, change) => {
      faults.cutConnections();
      change();
    },
    says: /"Watch interrupted"/,
    lines: WATCHES,
  },
  {
    about: 'watches that carry no bytes for a while',
    trouble: async (faults, change) => {
      faults.stall();
      change();
      await delay(300);
      faults.resume();
    },
    says: /Watch interrupted|Failed to watch/,
    lines: 0,
  },
  {
    about: 'watches that carry no bytes until the connection is cut',
    trouble: async (faults, change) => {
      faults.stall();
      change();
      await delay(300);
      faults.cutConnections();
      await delay(300);
      faults.resume();
    },
    says: /"Watch interrupted"/,
    lines: WATCHES,
  },
  {
    about: '410 Gone on an open watch',
    trouble: (faults, change) => {
      faults.failWatches(410, { resource: 'endpointslices' });
      change();
    },
    says: /"Watch interrupted" resource="endpointslices".*next="read everything again/,
    lines: 1,
  },
  {
    about: 'a history that does not reach back to the last version',
    trouble: (faults, change) => {
      faults.answer({ status: 500, verb: 'watch', resource: 'services', times: 1 });
      faults.cutConnections();
      change();
      faults.expireVersions();
    },
    says: /"(Watch interrupted|Failed to watch)" .*resource="services"/,
    lines: 2,
  },
  {
    about: '429 Too Many Requests',
    trouble: (faults, change) => {
      faults.answer({ status: 429, retryAfterSeconds: 1, resource: 'services', verb: 'watch', times: 1 });
      faults.cutConnections();
      change();
    },
    says: /"Failed to watch" .*429.* resource="services"/,
    lines: 1,
  },
  {
    about: '500 Internal Server Error',
    trouble: (faults, change) => {
      faults.answer({ status: 500, resource: 'endpointslices', verb: 'watch', times: 1 });
      faults.cutConnections();
      change();
    },
    says: /"Failed to watch" .*500.* resource="endpointslices"/,
    lines: 1,
  },
  {
    about: 'half a JSON document instead of a list',
    trouble: (faults, change) => {
      faults.answer({ status: 400, resource: 'services', verb: 'watch', times: 2 }); // the stream of initial events is unknown here
      faults.truncate({ resource: 'services', verb: 'list', times: 1 });
      faults.cutConnections();
      change();
    },
    says: /"Failed to watch" .*resource="services"/,
    lines: 2,
  },
  {
    about: 'a restart with a new history',
    trouble: (faults, change) => {
      change();
      faults.restart({ firstVersion: 1 });
    },
    says: /"(Watch interrupted|Failed to watch)" .*resource="services"/,
    lines: 2,
  },
];

describe('an agent whose API server misbehaves', () => {
  let bed: AgentBed;
  before(async () => {
    bed = await AgentBed.open({ bookmarkIntervalMs: 1000 }); // real ones come about every minute
  });
  after(() => bed.close());

  for (const { about, trouble, says, lines } of cases) {
    test(`${about}: nothing is lost, and the log says it in one line`, async () => {
      const kept = [service({ name: 'kept', ip: '10.96.1.1' }), slice('kept', ['10.244.1.11'])];
      const doomed = [service({ name: 'doomed', ip: '10.96.1.2' }), slice('doomed', ['10.244.2.11'])];
      const born = [service({ name: 'born', ip: '10.96.1.3' }), slice('born', ['10.244.1.12', '10.244.2.12'])];
      bed.delete(...born);
      bed.apply(...kept, ...doomed);
      const agent = await bed.startSynced();
      await bed.rulesFollow();
      const from = agent.log.length;

      await trouble(bed.server.faults, () => {
        bed.delete(...doomed);
        bed.apply(...born, slice('kept', ['10.244.1.11', '10.244.1.12']));
      });
      await bed.rulesFollow();
      bed.apply(slice('kept', ['10.244.2.12']));
      await bed.rulesFollow();

      const log = agent.log.slice(from);
      const told = log.split('\n').filter((line) => says.test(line));
      assert.equal(told.length, lines, log);
      for (const line of complaints(log)) assert.match(line, /Failed to watch/);
      bed.server.faults.clear();
      assert.equal(await bed.stop(), 0);
    });
  }

  test('an API server that is gone for a while: health says since when, and the rules stay until it is back', async () => {
    bed.apply(service({ name: 'kept', ip: '10.96.1.1' }), slice('kept', ['10.244.1.11']));
    const agent = await bed.startSynced();
    await bed.rulesFollow();
    const rules = await bed.save('IPv4');
    const before = Date.now();
    await bed.server.faults.refuseConnections();

    const health = async (): Promise<Record<string, unknown>> => {
      const page = await bed.network.probe({ from: 'n1', http: '127.0.0.1:10256/healthz' });
      assert.ok('body' in page);
      return page.body as Record<string, unknown>;
    };
    let seen: Record<string, unknown> = {};
    await until(
      async () => {
        seen = await health();
        return 'apiServer' in seen;
      },
      20_000,
      () => `health never spoke of the API server: ${JSON.stringify(seen)}`,
    );
    const { connected, since } = seen.apiServer as { connected: boolean; since: string };
    assert.equal(connected, false);
    assert.ok(Math.abs(Date.parse(since) - before) < 5000, since);
    assert.equal(seen.healthy, true, 'the rules still work');
    assert.deepEqual(countless(await bed.save('IPv4')), countless(rules));

    bed.delete(service({ name: 'kept', ip: '10.96.1.1' }));
    bed.apply(service({ name: 'born', ip: '10.96.1.3' }), slice('born', ['10.244.1.12']));
    await bed.server.faults.acceptConnections();
    await bed.rulesFollow(60_000);
    await until(
      async () => !('apiServer' in (await health())),
      60_000,
      () => 'health still speaks of an outage',
    );
    for (const line of complaints(agent.log)) assert.match(line, /Failed to watch|configuration may be incomplete/);
  });

  test('an agent that starts before its API server waits for it', async () => {
    await bed.stop();
    await bed.server.faults.refuseConnections();
    const agent = await bed.start();
    await agent.said(/Failed to watch.*resource="nodes".*next="read everything again in/);
    await bed.server.faults.acceptConnections();
    await agent.said(/"Synced" ipFamily="IPv4"/);
    await bed.rulesFollow();
  });

  test('10,000 Services come in one list, and the next change is a small one', async () => {
    await bed.stop();
    for (let i = 0; i < 10_000; i++) {
      const name = `s${i}`;
      bed.apply(service({ name, ip: `10.97.${i >> 8}.${i & 255}` }));
      if (i % 10 === 0) bed.apply(slice(name, ['10.244.1.11', '10.244.2.11'])); // the others only reject, which loads sooner
    }
    const agent = await bed.start();
    await agent.said(/"Synced" ipFamily="IPv4" services=100\d\d/, 0, 60_000);
    await bed.rulesFollow(60_000);
    const from = agent.log.length;
    bed.apply(slice('s5000', ['10.244.1.12']));
    await agent.said(/"Synced" ipFamily="IPv4" services=100\d\d changed=1 full=false/, from, 60_000);
    await bed.rulesFollow(60_000);
  });
});

/** Packets keep being counted. */
function countless(save: string): string {
  return save.replace(/\[\d+:\d+\]/g, '').replace(/^#.*$/gm, '');
}
