// A lesson as data. In: its Markdown. Out: prose and commands in their order. Commands are in blocks marked `console`:
//
//    ```console
//    $ kubectl get services              in your own terminal
//    node1# iptables --numeric ...       in a node, a pod, or the outside client
//    Chain KUBE-SERVICES ...             what it shows
//    ```
//
// A block marked `console needs ipvs` is only for machines that have that.

export type LessonPart = { readonly kind: 'prose'; readonly text: string } | Step;

export interface Step {
  readonly kind: 'step';
  /** `node1`; undefined is your own terminal. */
  readonly place: string | undefined;
  readonly command: string;
  readonly shown: readonly string[];
  /** In the file, from 1. */
  readonly line: number;
  /** What not every machine has; undefined if it can be run everywhere. */
  readonly needs: string | undefined;
}

export interface Lesson {
  readonly title: string;
  readonly parts: readonly LessonPart[];
}

const FENCE = /^```(\w*)(?: needs (\w+))?\s*$/;
const PROMPT = /^(?:([a-z][a-z0-9./-]*)# |\$ )(.+)$/;

export function parseLesson(markdown: string): Lesson {
  const parts: LessonPart[] = [];
  const prose: string[] = [];
  const endProse = () => {
    const text = prose.splice(0).join('\n').trim();
    if (text) parts.push({ kind: 'prose', text });
  };
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const [, language, needs] = FENCE.exec(line) ?? [];
    if (language !== 'console') {
      prose.push(line);
      continue;
    }
    endProse();
    const end = lines.findIndex((other, at) => at > i && FENCE.test(other));
    parts.push(...stepsIn(lines.slice(i + 1, end), i + 2, needs));
    i = end;
  }
  endProse();
  return { title: /^# (.+)$/m.exec(markdown)?.[1] ?? '', parts };
}

function stepsIn(lines: readonly string[], firstLine: number, needs: string | undefined): Step[] {
  const steps: { place: string | undefined; command: string; shown: string[]; line: number }[] = [];
  for (const [i, line] of lines.entries()) {
    const prompt = PROMPT.exec(line);
    const last = steps.at(-1);
    if (prompt) steps.push({ place: prompt[1], command: prompt[2]!, shown: [], line: firstLine + i });
    else if (!last) throw new Error(`line ${firstLine + i}: a block begins with a prompt, not with ${line}`);
    else if (last.shown.length === 0 && last.command.endsWith('\\')) last.command += `\n${line}`;
    else last.shown.push(line);
  }
  return steps.map((step) => ({ kind: 'step', ...step, needs }));
}
