// Userspace mode as a process of its own, to be started in a host of a test network: relays listen where their process is. It takes
// commands, a line of JSON each, over a connection to 127.0.0.1, and answers each with a line.
import net from 'node:net';
import { createInterface } from 'node:readline';
import { Iptables } from '../../src/kernel/iptables.ts';
import { FAMILIES, type Family } from '../../src/lib/ip.ts';
import { removeRules, type UserspaceDrivers } from '../../src/modes/userspace/apply.ts';
import { Claims } from '../../src/modes/userspace/claims.ts';
import type { UserspaceChange, UserspaceState } from '../../src/modes/userspace/diff.ts';
import type { UserspaceFacts } from '../../src/modes/userspace/facts.ts';
import type { UserspacePlan } from '../../src/modes/userspace/plan.ts';
import { RelayThreads } from '../../src/modes/userspace/relay-threads.ts';
import { Relays } from '../../src/modes/userspace/relays.ts';
import { userspaceMode } from '../../src/modes/userspace/userspace.ts';
import { type FamilyState, NOTHING_OWED, sync } from '../../src/pipeline.ts';
import { TestCluster } from '../support/cluster.ts';
import type { Manifest } from '../support/golden.ts';

export type AgentCommand =
  | { readonly kind: 'sync'; readonly apply: readonly Manifest[]; readonly delete: readonly Manifest[] }
  | { readonly kind: 'inspect' }
  | { readonly kind: 'clean-up' };

export interface AgentAnswer {
  readonly error?: string;
  /** Open connections, the most that ever were, and bytes of memory in use. */
  readonly open?: number;
  readonly mostOpen?: number;
  readonly memory?: number;
  readonly relays?: number;
  readonly problems?: readonly string[];
}

if (import.meta.main) serve(Number(process.argv[2]), Number(process.argv[3] ?? 250), Number(process.argv[4] ?? 0));

/** `threads`: 0 relays in the process's own. */
function serve(port: number, udpIdleTimeoutMs: number, threads: number): void {
  const problems: string[] = [];
  const cluster = new TestCluster();
  const families = FAMILIES.map((family) => familyState(family, cluster, udpIdleTimeoutMs, threads, problems));
  const control = net.connect(port, '127.0.0.1');
  control.on('close', () => process.exit());
  const perform = async (command: AgentCommand): Promise<AgentAnswer> => {
    switch (command.kind) {
      case 'sync':
        cluster.delete(...command.delete).apply(...command.apply);
        for (const family of families) await sync(family);
        return {};
      case 'inspect': {
        const connections = await Promise.all(families.map(({ drivers }) => drivers.relays.connections()));
        return {
          open: connections.reduce((sum, { open }) => sum + open.length, 0),
          mostOpen: connections.reduce((sum, { mostOpen }) => sum + mostOpen, 0),
          relays: families.reduce((sum, { drivers }) => sum + drivers.relays.size, 0),
          memory: process.memoryUsage().rss,
          problems,
        };
      }
      case 'clean-up':
        for (const { drivers } of families) await removeRules(drivers.iptables);
        return {};
    }
  };
  createInterface({ input: control }).on('line', (line) => {
    perform(JSON.parse(line) as AgentCommand)
      .catch((error: Error): AgentAnswer => ({ error: error.stack ?? error.message }))
      .then((answer) => control.write(`${JSON.stringify(answer)}\n`));
  });
}

function familyState(
  family: Family,
  { tracker }: TestCluster,
  udpIdleTimeoutMs: number,
  threads: number,
  problems: string[],
): FamilyState<UserspaceFacts, UserspacePlan, UserspaceState, UserspaceChange, UserspaceDrivers> {
  const facts: UserspaceFacts = {
    family,
    bindAddress: family === 'IPv4' ? '0.0.0.0' : '::',
    hostIp: family === 'IPv4' ? '192.168.50.1' : 'fd00:50::1',
    detector: { kind: 'source', cidr: family === 'IPv4' ? '10.244.0.0/16' : 'fd00:10:244::/48' },
  };
  return {
    family,
    tracker,
    identity: { nodeName: 'n1', nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' }, allowsExternalIPs: true },
    mode: userspaceMode,
    drivers: {
      iptables: new Iptables(family, 'nft'),
      relays: threads === 0 ? new Relays({ udpIdleTimeoutMs }) : new RelayThreads({ udpIdleTimeoutMs }, threads, fail),
      claims: new Claims({ family, onProblem: (text) => problems.push(text) }),
    },
    probe: async () => facts,
    held: undefined,
    owed: NOTHING_OWED,
  };
}

function fail(error: Error): void {
  throw error;
}
