// The worked examples of test/golden/worked: a cluster and what is known of the machine in, the text for iptables-restore out.
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Family } from '../../src/lib/ip.ts';
import type { NodeModel } from '../../src/model/model.ts';
import { type NodeIdentity, resolveNode } from '../../src/model/resolve.ts';
import type { IptablesFacts } from '../../src/modes/iptables/facts.ts';
import { type IptablesPlan, plan } from '../../src/modes/iptables/plan.ts';
import { fullText } from '../../src/modes/iptables/print.ts';
import { TestCluster } from './cluster.ts';
import type { Manifest } from './golden.ts';

export interface WorkedExample {
  readonly manifests: readonly Manifest[];
  readonly facts: IptablesFacts;
  /** The text upstream hands to iptables-restore. */
  readonly rules: string;
}

const FOLDER = new URL('../golden/worked/', import.meta.url);

export const WORKER_7: NodeIdentity = {
  nodeName: 'worker-7',
  nodeIPs: { IPv4: '172.20.5.7', IPv6: 'fd20::7' },
  allowsExternalIPs: true,
};

export function workedExamples(): readonly string[] {
  return readdirSync(FOLDER).sort();
}

export function workedExample(name: string): WorkedExample {
  const read = (file: string): string => readFileSync(new URL(`${name}/${file}`, FOLDER), 'utf8');
  return {
    manifests: parseAllDocuments(read('cluster.yaml')).map((document) => document.toJS() as Manifest),
    facts: JSON.parse(read('facts.json')) as IptablesFacts,
    rules: read('iptables.rules'),
  };
}

export function modelOf(manifests: readonly Manifest[], family: Family = 'IPv4', identity = WORKER_7): NodeModel {
  return resolveNode(new TestCluster().apply(...manifests).tracker.take(family), identity);
}

/** All rules of a plan as upstream's full sync writes them: jumps and canaries are not part of its text. */
export function serviceText(wanted: IptablesPlan, stale: readonly string[] = []): string {
  const lines = fullText(wanted, { stale, missing: { mangle: [], filter: [], nat: [] }, jumps: () => [] });
  return `${lines.join('\n')}\n`;
}

export function textOf(manifests: readonly Manifest[], facts: IptablesFacts): string {
  return serviceText(plan(modelOf(manifests, facts.family), facts));
}
