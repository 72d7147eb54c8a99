import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KernelError } from './error.ts';
import { runProcess } from './process.ts';

test('a program runs to its end, and both its outputs are kept', async () => {
  const result = await runProcess('sh', ['-c', 'echo out; echo err >&2; exit 3']);
  assert.deepEqual(result, { status: 3, stdout: 'out\n', stderr: 'err\n' });
});

test('arguments are passed as they are, through no shell', async () => {
  const { stdout } = await runProcess('printf', ['%s|', '$HOME', '; echo x', '"']);
  assert.equal(stdout, '$HOME|; echo x|"|');
});

test('input arrives whole, however many pieces it has', async () => {
  const lines = Array.from({ length: 50_000 }, (_, i) => `line ${i}\n`);
  const { stdout } = await runProcess('wc', ['-lc'], { input: lines });
  assert.deepEqual(stdout.trim().split(/\s+/).map(Number), [50_000, lines.join('').length]);
});

test('a program that does not read its input is not waited for', async () => {
  const { status } = await runProcess('true', [], { input: Array(10_000).fill('x'.repeat(1000)) });
  assert.equal(status, 0);
});

test('a program that is not installed is named', async () => {
  await assert.rejects(runProcess('no-such-program-here', []), (error) => {
    assert.ok(error instanceof KernelError);
    assert.equal(error.code, 'TOOL_MISSING');
    assert.match(error.message, /no-such-program-here/);
    return true;
  });
});

test('a program that takes too long is ended, and that is said', async () => {
  const { status, stderr } = await runProcess('sleep', ['10'], { timeoutSeconds: 0.1 });
  assert.equal(status, -1);
  assert.match(stderr, /SIGTERM/);
});
