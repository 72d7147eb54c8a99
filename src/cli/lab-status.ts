// `portolan lab status`: the map of the running lab.
import { askLabOnce } from '../lab/control.ts';
import { calledAs } from '../lab/package-files.ts';
import { labMap, thingsToTry } from '../lab/screen/map.ts';
import type { LabStatus } from '../lab/status.ts';
import { runningLab } from './lab-running.ts';

export async function run(): Promise<number> {
  const { folder } = await runningLab();
  const status = await askLabOnce<LabStatus>(folder, 'status');
  process.stdout.write(`${labMap(status)}\n${thingsToTry(status, calledAs())}`);
  return 0;
}
