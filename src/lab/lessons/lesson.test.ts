import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLesson } from './lesson.ts';

test('a lesson is prose and steps in their order', () => {
  const markdown = ['# Title', '', 'Look:', '```console', '$ echo \\', '  a', 'a', 'node1# true', '```', 'Done.'].join(
    '\n',
  );
  assert.deepEqual(parseLesson(markdown), {
    title: 'Title',
    parts: [
      { kind: 'prose', text: '# Title\n\nLook:' },
      { kind: 'step', place: undefined, command: 'echo \\\n  a', shown: ['a'], line: 5, needs: undefined },
      { kind: 'step', place: 'node1', command: 'true', shown: [], line: 8, needs: undefined },
      { kind: 'prose', text: 'Done.' },
    ],
  });
});

test('a block may need what not every machine has', () => {
  const [step] = parseLesson('```console needs ipvs\n$ ipvsadm\n```').parts;
  assert.ok(step?.kind === 'step' && step.needs === 'ipvs');
});

test('a block of another language is prose', () => {
  assert.deepEqual(parseLesson('```yaml\na: 1\n```').parts, [{ kind: 'prose', text: '```yaml\na: 1\n```' }]);
});
