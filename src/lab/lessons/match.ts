// Does a command show what a lesson says? A lesson prints a true run, and no two runs are alike to the letter, so these
// things may differ, and nothing else:
//   - how many blanks are between words, and empty lines;
//   - `…` stands for any text in its line, and alone in a line for any number of lines;
//   - pod names (their last two parts), IP addresses and KUBE-SEP- chains, as long as one name always stands for the same
//     other name: who is one thing in the lesson is one thing in the run;
//   - numbers that are words of their own, such as counters, and ages like 15s, unless they are alone in their line.

/** What the lesson's names are in this run. */
export type Names = ReadonlyMap<string, string>;

/** The names as known after the whole output has matched; undefined if it does not. */
export function matchOutput(shown: readonly string[], output: string, names: Names): Names | undefined {
  const actual = output.split('\n').filter((line) => line.trim() !== '');
  return matchLines(
    shown.filter((line) => line.trim() !== ''),
    actual,
    names,
  );
}

/** A command, or a line, with the lesson's names replaced by this run's. */
export function renamed(text: string, names: Names): string {
  return text.replace(NAME, (name) => names.get(name) ?? name);
}

const NAME_KINDS = [
  // A pod of a deployment keeps the deployment's name.
  { found: /[a-z][a-z0-9]*(?:-[a-z0-9]+)*?-[0-9a-z]{8,10}-[0-9a-z]{5}\b/, pattern: podPattern },
  { found: /KUBE-SEP-[0-9A-Z]{16}/, pattern: () => 'KUBE-SEP-[0-9A-Z]{16}' },
  { found: /(?<![\d.])(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?!\d)/, pattern: () => '\\d{1,3}(?:\\.\\d{1,3}){3}' },
];
const NAME = new RegExp(NAME_KINDS.map(({ found }) => `(?:${found.source})`).join('|'), 'g');
const NUMBER = /^([([]?)\d+[KMG]?([\])]?)$/;
const AGE = /^(?:\d+[dhms])+$/;

function podPattern(name: string): string {
  return `${RegExp.escape(name.replace(/-[0-9a-z]+-[0-9a-z]+$/, ''))}-[0-9a-z]{8,10}-[0-9a-z]{5}`;
}

function matchLines(shown: readonly string[], actual: readonly string[], names: Names): Names | undefined {
  const [first, ...rest] = shown;
  if (first === undefined) return actual.length === 0 ? names : undefined;
  if (first.trim() === '…') {
    for (let skipped = 0; skipped <= actual.length; skipped++) {
      const matched = matchLines(rest, actual.slice(skipped), names);
      if (matched) return matched;
    }
    return undefined;
  }
  const known = actual[0] === undefined ? undefined : matchLine(first, actual[0], names);
  return known && matchLines(rest, actual.slice(1), known);
}

function matchLine(shown: string, actual: string, names: Names): Names | undefined {
  const fresh: string[] = [];
  const words = shown.trim().split(/\s+/);
  const patterns = words.map((word, i) => {
    const before = i === 0 ? '' : i === 1 && words[0] === '…' ? '\\s*' : '\\s+';
    // Alone, it may also stand for no word at all.
    return word === '…' ? `(?:${before}.*?)?` : before + wordPattern(word, words.length === 1, names, fresh);
  });
  const found = new RegExp(`^\\s*${patterns.join('')}\\s*$`).exec(actual);
  if (!found) return undefined;
  const known = new Map(names);
  for (const [i, name] of fresh.entries()) {
    const real = found.groups![`n${i}`]!;
    if ([...known.values()].includes(real)) return undefined; // two names for one thing
    known.set(name, real);
  }
  return known;
}

function wordPattern(word: string, isAlone: boolean, names: Names, fresh: string[]): string {
  const number = isAlone ? null : NUMBER.exec(word);
  if (number) return `${RegExp.escape(number[1]!)}\\d+[KMG]?${RegExp.escape(number[2]!)}`;
  if (AGE.test(word)) return '(?:\\d+[dhms])+';
  let pattern = '';
  let at = 0;
  for (const { 0: name, index } of word.matchAll(NAME)) {
    pattern += literal(word.slice(at, index)) + namePattern(name, names, fresh);
    at = index + name.length;
  }
  return pattern + literal(word.slice(at));
}

function namePattern(name: string, names: Names, fresh: string[]): string {
  const known = names.get(name);
  if (known !== undefined) return RegExp.escape(known);
  if (fresh.includes(name)) return `\\k<n${fresh.indexOf(name)}>`;
  fresh.push(name);
  const kind = NAME_KINDS.find(({ found }) => new RegExp(`^(?:${found.source})$`).test(name))!;
  return `(?<n${fresh.length - 1}>${kind.pattern(name)})`;
}

function literal(text: string): string {
  return text.split('…').map(RegExp.escape).join('.*?');
}
