// This file itself runs in a sandbox, to show that a test file can: its tests are reported as any other's.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { continueInSandbox, isInSandbox } from '../../src/lab/sandbox.ts';

continueInSandbox(import.meta.url);

test('a test file that continues in a sandbox is root of a network of its own', () => {
  assert.equal(isInSandbox(), true);
  assert.equal(process.getuid?.(), 0);
  assert.equal(process.pid, 1);
  execFileSync('ip', ['netns', 'add', 'inner']);
  assert.match(execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' }), /^inner/);
});
