// `portolan lab down`: ends the running lab, or removes what a killed one left.
import { setTimeout as delay } from 'node:timers/promises';
import { askLabOnce } from '../lab/control.ts';
import { isLabRunning, removeStateFolder, stateFolder } from '../lab/state.ts';

const PATIENCE_MS = 20_000;

export async function run(): Promise<number> {
  const folder = stateFolder();
  if (!(await isLabRunning(folder))) {
    removeStateFolder(folder);
    process.stdout.write('No lab is running.\n');
    return 0;
  }
  await askLabOnce(folder, 'down');
  const deadline = Date.now() + PATIENCE_MS;
  while (await isLabRunning(folder)) {
    if (Date.now() > deadline) {
      process.stderr.write('portolan lab down: the lab does not end\n');
      return 1;
    }
    await delay(50);
  }
  process.stdout.write('The lab is gone.\n');
  return 0;
}
