// The running lab, for the commands that need one.
import { askLabOnce, LabRefusal } from '../lab/control.ts';
import type { Place } from '../lab/hosts.ts';
import { isLabRunning, type LabState, readState, type StateFolder, stateFolder } from '../lab/state.ts';

export interface RunningLab {
  readonly folder: StateFolder;
  readonly state: LabState;
}

export async function runningLab(): Promise<RunningLab> {
  const folder = stateFolder();
  if (!(await isLabRunning(folder))) throw new LabRefusal('no lab is running; `portolan lab` starts one');
  return { folder, state: readState(folder) };
}

export function placeIn({ folder }: RunningLab, wanted: string): Promise<Place> {
  return askLabOnce<Place>(folder, 'place', wanted);
}
