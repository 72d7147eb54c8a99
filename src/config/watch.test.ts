import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { CONFIG_UPDATED, watchConfigFile } from './watch.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portolan-config-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A watched file, and the event that ends the watch. */
function watched(t: TestContext, path: string, text: string) {
  const updates: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const watching = watchConfigFile(path, text, (error) => {
    updates.push(error.message);
    resolve(error.message);
  });
  t.after(() => watching.close());
  return { updates, update: promise };
}

/** Resolves when the kernel has told another watcher of the same file that something happened, and everybody has heard it. */
function nextEvent(path: string): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(realpathSync(path), () => {
    watcher.close();
    setImmediate(resolve);
  });
  return promise;
}

test('writing to the file ends the watch, once', async (t) => {
  const path = join(folder(t), 'config.conf');
  writeFileSync(path, 'a');
  const { update, updates } = watched(t, path, 'a');
  writeFileSync(path, 'b');
  appendFileSync(path, 'c');
  assert.equal(await update, CONFIG_UPDATED);
  const later = nextEvent(path);
  appendFileSync(path, 'd');
  await later;
  assert.equal(updates.length, 1);
});

test('moving the file away ends the watch', async (t) => {
  const path = join(folder(t), 'config.conf');
  writeFileSync(path, 'a');
  const { update } = watched(t, path, 'a');
  renameSync(path, `${path}.old`);
  assert.equal(await update, CONFIG_UPDATED);
});

test('a change between loading and watching counts', async (t) => {
  const path = join(folder(t), 'config.conf');
  writeFileSync(path, 'newer');
  assert.equal(await watched(t, path, 'older').update, CONFIG_UPDATED);
});

test('attributes, deletion and replacement by another file mean nothing', async (t) => {
  const path = join(folder(t), 'config.conf');
  for (const event of [
    () => chmodSync(path, 0o600),
    () => utimesSync(path, 1, 1),
    () => unlinkSync(path),
    () => {
      writeFileSync(`${path}.new`, 'b');
      renameSync(`${path}.new`, path);
    },
  ]) {
    writeFileSync(path, 'a');
    const { updates } = watched(t, path, 'a');
    const happened = nextEvent(path);
    event();
    await happened;
    assert.deepEqual(updates, []);
  }
});

test('an update of a ConfigMap volume means nothing: its links lead to a new file', async (t) => {
  const dir = folder(t);
  mkdirSync(join(dir, '..2026_1'));
  writeFileSync(join(dir, '..2026_1', 'config.conf'), 'a');
  symlinkSync('..2026_1', join(dir, '..data'));
  symlinkSync('..data/config.conf', join(dir, 'config.conf'));
  const { updates } = watched(t, join(dir, 'config.conf'), 'a');

  mkdirSync(join(dir, '..2026_2'));
  writeFileSync(join(dir, '..2026_2', 'config.conf'), 'b');
  symlinkSync('..2026_2', join(dir, '..data_tmp'));
  renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
  const removed = nextEvent(join(dir, '..2026_1', 'config.conf'));
  rmSync(join(dir, '..2026_1'), { recursive: true });
  await removed;
  assert.deepEqual(updates, []);
});

test('a file that does not exist cannot be watched', (t) => {
  assert.throws(() => watchConfigFile(join(folder(t), 'none'), '', () => assert.fail()), { code: 'ENOENT' });
});
