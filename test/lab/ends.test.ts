// However a lab ends, nothing of it stays: no process, no namespace, no mount, no file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { TestLab } from '../support/lab.ts';

const USERS = [
  { who: 'our own', make: () => new TestLab() as TestLab | undefined },
  { who: 'an ordinary user', make: () => TestLab.asOrdinaryUser() },
];
const NOTHING = { files: [], processes: [] };
const NO_LAB = 'an ordinary user may not read this folder';

describe('the end of a lab', { concurrency: 2 }, () => {
  for (const { who, make } of USERS) {
    test(`${who}: Ctrl-C leaves nothing`, async (t) => {
      const lab = make();
      if (!lab) return t.skip(NO_LAB);
      const mounts = readFileSync('/proc/self/mounts', 'utf8');
      try {
        await lab.up('--families', 'ipv4');
        assert.equal(await lab.ok('exec', 'node1', '--', 'hostname'), 'node1\n');
        assert.match(await lab.ok('exec', 'customer', '--', 'curl', '-sS', 'http://summary/'), /Ada Yao/);
        await lab.end('SIGINT');
        assert.deepEqual(await lab.leftovers(), NOTHING);
        assert.equal(readFileSync('/proc/self/mounts', 'utf8'), mounts);
      } finally {
        await lab.remove();
      }
    });

    test(`${who}: after SIGKILL the processes are gone, and a new start cleans up the rest`, async (t) => {
      const lab = make();
      if (!lab) return t.skip(NO_LAB);
      try {
        await lab.up('--families', 'ipv4', '--nodes', '2');
        await lab.end('SIGKILL');
        const { processes, files } = await lab.leftovers();
        assert.deepEqual(processes, []);
        assert.deepEqual(files, ['portolan-lab']);
        await lab.up('--families', 'ipv4', '--nodes', '2');
        assert.match(await lab.ok('curl', 'http://node1:30180/'), /Balance/);
        assert.match(await lab.ok('down'), /is gone/);
        assert.deepEqual(await lab.leftovers(), NOTHING);
      } finally {
        await lab.remove();
      }
    });
  }

  test('a signal while it starts ends it too', async () => {
    const lab = new TestLab();
    try {
      const starting = lab.up().catch((error: Error) => error.message);
      await new Promise((resolve) => setTimeout(resolve, 700));
      await lab.end('SIGTERM');
      assert.match(String(await starting), /the lab ended/);
      assert.deepEqual(await lab.leftovers(), NOTHING);
    } finally {
      await lab.remove();
    }
  });

  test('without a lab, commands say so and down removes what is left of one', async () => {
    const lab = new TestLab();
    try {
      assert.match((await lab.run('status')).stderr, /no lab is running/);
      assert.match(await lab.ok('down'), /No lab is running/);
    } finally {
      await lab.remove();
    }
  });
});
