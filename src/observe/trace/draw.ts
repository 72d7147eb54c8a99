// In: a trace report.  Out: the path as people draw it: chain after chain, branches with their shares, each rule with its reason.
import type { HopReport, OutcomeReport, TraceReport } from './report.ts';

export interface Ink {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly note: (text: string) => string;
}

export function inkFor(stream: { readonly isTTY?: boolean }): Ink {
  const with_ = (code: string) => (text: string) => (stream.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);
  return { bold: with_('1'), dim: with_('2'), good: with_('32'), bad: with_('31'), note: with_('36') };
}

/** `all`: also jumps into chains where nothing matched. */
export function drawTrace(report: TraceReport, ink: Ink, all: boolean): string {
  const { packet } = report;
  const to = packet.service ? ` (${packet.service}, ${packet.frontend?.replace('-', ' ')})` : '';
  const from = packet.isFromNode ? ' (a process of this node)' : '';
  const lines = [
    ink.bold(`${packet.source}${from} → ${packet.destination}/${packet.protocol}${to}`),
    ink.dim(`node ${report.node || 'unnamed'}, rules ${report.rules}`),
    '',
    ...drawBranches(treeOf(all ? report.outcomes : report.outcomes.map(withoutDetours)), '', ink),
    '',
    ink.bold(report.sentence),
  ];
  return `${lines.join('\n')}\n`;
}

/** A jump into a chain in which nothing matched leads nowhere, and a rule that does several things is shown once. */
function withoutDetours(outcome: OutcomeReport): OutcomeReport {
  const isDetour = ({ did, chain, rule }: HopReport, next: HopReport | undefined): boolean =>
    (did.startsWith('jump ') && next?.chain !== did.slice('jump '.length)) ||
    (next !== undefined && rule !== undefined && next.chain === chain && next.rule === rule);
  return { ...outcome, hops: outcome.hops.filter((hop, i) => !isDetour(hop, outcome.hops[i + 1])) };
}

/** A hop with what can come after it, or the end of a way. */
interface Tree {
  readonly hop?: HopReport;
  readonly outcome?: OutcomeReport;
  readonly branches: Tree[];
}

/** Outcomes share the hops from the start up to where they part. */
function treeOf(outcomes: readonly OutcomeReport[]): Tree[] {
  const roots: Tree[] = [];
  for (const outcome of outcomes) {
    let level = roots;
    for (const hop of outcome.hops) {
      const last = level.at(-1);
      const tree = last?.hop && sameHop(last.hop, hop) ? last : { hop, branches: [] };
      if (tree !== last) level.push(tree);
      level = tree.branches;
    }
    level.push({ outcome, branches: [] });
  }
  return roots;
}

function sameHop(a: HopReport, b: HopReport): boolean {
  return (
    a.hook === b.hook &&
    a.table === b.table &&
    a.chain === b.chain &&
    a.rule === b.rule &&
    a.row === b.row &&
    a.did === b.did
  );
}

function drawBranches(branches: readonly Tree[], place: string, ink: Ink): string[] {
  if (branches.length === 1) return drawTree(branches[0]!, place, ink);
  return branches.flatMap((tree, i) => {
    const [elbow, bar] = i === branches.length - 1 ? ['└─ ', '   '] : ['├─ ', '│  '];
    return drawTree(tree, place, ink).map((line, n) => `${ink.dim(n === 0 ? elbow : bar)}${line}`);
  });
}

/** `place`: the chain that the hop before stood in, which is not named again. */
function drawTree({ hop, outcome, branches }: Tree, place: string, ink: Ink): string[] {
  if (outcome) return [endLine(outcome, ink)];
  if (!hop) return [];
  const here = `${hop.hook} ${hop.table} ${hop.chain}`;
  const chance = hop.chance ? `${ink.note(hop.chance)} ` : '';
  const foreign = hop.isForeign ? ink.bad(' not a rule of the proxy') : '';
  return [
    ...(here === place ? [] : [`${ink.bold(hop.chain)} ${ink.dim(`${hop.table}, ${hop.hook}`)}`]),
    `   ${chance}${hop.rule ?? 'the chain’s policy'}${foreign}`,
    ...(hop.row ? [`   ${hop.row}`] : []),
    ...(hop.condition ? [`   ${ink.note(`only if ${hop.condition}`)}`] : []),
    ...hop.origins.map(
      ({ meaning, object, fields }) => `   ${ink.note(meaning)} ${ink.dim(`[${object}: ${fields.join(', ')}]`)}`,
    ),
    ...drawBranches(branches, here, ink),
  ];
}

function endLine(outcome: OutcomeReport, ink: Ink): string {
  const share = ink.bold(outcome.share === '1' ? 'all' : outcome.share);
  const source = outcome.isMasqueraded ? 'the node’s address as source' : `source ${outcome.sourceSeen}`;
  const where = outcome.endpoint?.nodeName ? ` on ${outcome.endpoint.nodeName}` : '';
  switch (outcome.end) {
    case 'dropped':
      return `⇒ ${share} ${ink.bad('dropped')}`;
    case 'rejected':
      return `⇒ ${share} ${ink.bad('rejected')} with ${outcome.reason}`;
    case 'unjudged':
      return `⇒ ${share} ${ink.bad('cannot be judged')}: ${outcome.reason}`;
    case 'delivered':
      return `⇒ ${share} ${ink.good(outcome.destination)} on this node, ${source}`;
    case 'forwarded':
      return `⇒ ${share} ${ink.good(outcome.destination)}${where}, ${source}`;
  }
}
