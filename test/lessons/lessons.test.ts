// Every lesson, run from beginning to end: each command shows what the text says. Once as ourselves, once as an ordinary user.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { lessonFiles, readLesson } from '../../src/lab/lessons/lessons.ts';
import { packageFile } from '../../src/lab/package-files.ts';
import { TestLab } from '../support/lab.ts';

test('every lesson is in the list, under its title', () => {
  const list = readFileSync(packageFile('docs/lessons/README.md'), 'utf8');
  for (const file of lessonFiles()) {
    const link = `${file.number}. [${readLesson(file).title}](${file.path.replace('docs/lessons/', '')})`;
    assert.ok(list.includes(link), `no ${link}`);
  }
});

describe('lessons', { concurrency: 2 }, () => {
  for (const { who, lab } of [
    { who: 'as ourselves', lab: new TestLab() },
    { who: 'as an ordinary user', lab: TestLab.asOrdinaryUser() },
  ]) {
    // One after the other in each lab, whose rules they compare.
    const skip = lab ? false : 'an ordinary user may not read this folder';
    describe(who, { concurrency: 1, skip }, () => {
      before(() => lab?.up());
      after(() => lab?.remove());

      for (const file of lessonFiles()) {
        test(`${file.number}. ${readLesson(file).title}`, async () => {
          const { status, stdout, stderr } = await lab!.run('lesson', String(file.number), '--yes');
          const surprises = stdout.split('\n\n').filter((part) => part.includes('✗'));
          assert.equal(status, 0, [...surprises, stderr].join('\n\n'));
        });
      }
    });
  }
});
