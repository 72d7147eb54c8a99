// Runs the examples in Markdown files: in a `console` block, each `$ ` line is a command for bash in the repository's root, and the lines
// under it are what it prints, where a line of dots stands for any lines.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

for (const file of ['README.md', 'docs/trace.md']) {
  describe(`examples in ${file}`, () => {
    const examples = examplesIn(readFileSync(`${ROOT}${file}`, 'utf8'));
    test('there are some', () => assert.ok(examples.length > 0));
    for (const { command, output } of examples) {
      test(command, () => {
        const { stdout, stderr } = spawnSync('bash', ['-c', command], { cwd: ROOT, encoding: 'utf8' });
        assert.match(stdout, asPattern(output), `${stdout}${stderr}`);
      });
    }
  });
}

interface Example {
  readonly command: string;
  readonly output: string;
}

function examplesIn(markdown: string): readonly Example[] {
  const blocks = [...markdown.matchAll(/^```console\n(.*?)^```/gms)].map((match) => match[1]!);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => ({ command: part.slice(0, part.indexOf('\n')), output: part.slice(part.indexOf('\n') + 1) })),
  );
}

function asPattern(output: string): RegExp {
  const lines = output
    .trimEnd()
    .split('\n')
    .map((line) => (line === '...' ? '(?:.*\\n)*?' : `${RegExp.escape(line)}\\n`));
  return new RegExp(`^${lines.join('')}`);
}
