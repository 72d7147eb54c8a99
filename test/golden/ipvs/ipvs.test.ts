// Plans of IPVS mode against upstream's recorded state: servers, sets, addresses and rules, after every step.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FAMILIES, type Family, hostCidr } from '../../../src/lib/ip.ts';
import type { NodeModel } from '../../../src/model/model.ts';
import { resolveNode } from '../../../src/model/resolve.ts';
import { type IpvsPlan, plan } from '../../../src/modes/ipvs/plan.ts';
import { print } from '../../../src/modes/ipvs/print.ts';
import { TestCluster } from '../../support/cluster.ts';
import {
  factsOf,
  type IpvsScenario,
  ipvsScenarios,
  normalRules,
  normalServers,
  normalSets,
  recordedState,
} from '../../vm/recorded.ts';
import { ScenarioCluster } from '../../vm/scenario-cluster.ts';

describe('recorded IPVS state', () => {
  for (const scenario of ipvsScenarios()) test(`${scenario.name}: ${scenario.about}`, () => compare(scenario));
});

function compare(scenario: IpvsScenario): void {
  const cluster = new ScenarioCluster(new TestCluster());
  const states = new Map<Family, { model: NodeModel; plan: IpvsPlan }>();
  for (const [i, step] of scenario.steps.entries()) {
    if (scenario.name === 'cleanup' && i === 1) return; // nothing is planned any more
    cluster.play(step);
    const printed = FAMILIES.map((family) => {
      const before = states.get(family);
      const model = resolveNode(cluster.tracker.take(family), IDENTITY, before?.model);
      const state = { model, plan: plan(model, factsOf(scenario, i, family), before?.plan) };
      states.set(family, state);
      return sections(print(state.plan));
    });
    const recorded = recordedState(scenario, i);
    const both = (title: string): string[] => printed.flatMap((each) => each.get(title) ?? []);
    same(
      normalServers(both('virtual servers (ipvsadm --restore)')),
      ownServers(recorded.servers),
      `servers, step ${i + 1}`,
    );
    same(normalSets(both('sets (ipset restore)')), recorded.sets, `sets, step ${i + 1}`);
    same(both('addresses of kube-ipvs0').sort(), recorded.addresses, `addresses, step ${i + 1}`);
    for (const [j, family] of FAMILIES.entries()) {
      const rules = printed[j]!.get('rules (iptables-restore)') ?? [];
      same(
        normalRules(rules.map((rule) => asSaved(rule, family))),
        recorded.rules[family],
        `${family} rules, step ${i + 1}`,
      );
    }
  }
}

const IDENTITY = { nodeName: 'n1', nodeIPs: { IPv4: '192.168.50.1', IPv6: 'fd00:50::1' }, allowsExternalIPs: true };

/** Without the servers that somebody else had put there. */
function ownServers(lines: readonly string[]): string[] {
  return lines.filter((line) => !line.includes(' 198.18.0.5:80'));
}

function same(seen: readonly string[], wanted: readonly string[], what: string): void {
  const missing = wanted.filter((line) => !seen.includes(line));
  const unwanted = seen.filter((line) => !wanted.includes(line));
  assert.deepEqual({ missing, unwanted }, { missing: [], unwanted: [] }, what);
  assert.equal(seen.join('\n'), wanted.join('\n'), what);
}

function sections(text: string): Map<string, string[]> {
  return new Map(
    text
      .split(/^# /m)
      .slice(1)
      .map((section) => {
        const [title = '', ...lines] = section.split('\n');
        return [title, lines.filter((line) => line !== '')];
      }),
  );
}

/** A rule as iptables-save prints it. */
function asSaved(rule: string, family: Family): string {
  return rule
    .replace(/0x0+([1-9a-f])/g, '0x$1')
    .replace(/--xor-mark (\S+)/, '--set-xmark $1/0x0')
    .replace(/--or-mark (\S+)/, '--set-xmark $1/$1')
    .replace(/(-A \S+) (.*) (! -s \S+)/, '$1 $3 $2')
    .replace(/-s ([\d.]+) /, (_, ip: string) => `-s ${hostCidr(ip)} `)
    .replace(/-s ([\da-f:]+) /, (_, ip: string) => `-s ${hostCidr(ip)} `)
    .replace(
      /-m ipvs --vaddr (\S+) --vproto (\w+) --vport (\d+)/,
      (_, vip: string, name: string, port: string) =>
        `-m ipvs --vproto ${name === 'tcp' ? 6 : 17} --vaddr ${vip} --vport ${port}`,
    )
    .replace(/-j REJECT$/, `-j REJECT --reject-with icmp${family === 'IPv6' ? '6' : ''}-port-unreachable`)
    .replace(/'/g, "\\'");
}
