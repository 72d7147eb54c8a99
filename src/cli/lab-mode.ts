// `portolan lab mode MODE [NODE]`: has the agents work in another mode.
import { askLabOnce } from '../lab/control.ts';
import { MODES } from '../modes/mode.ts';
import { runningLab } from './lab-running.ts';
import { UsageError } from './usage-error.ts';

export async function run([mode = '', node]: readonly string[]): Promise<number> {
  if (!MODES.some((known) => known === mode)) throw new UsageError(`lab mode ${MODES.join('|')} [NODE]`);
  const { folder } = await runningLab();
  const said = await askLabOnce<string>(folder, 'mode', { mode, ...(node && { node }) });
  process.stdout.write(`${said}\n`);
  return 0;
}
