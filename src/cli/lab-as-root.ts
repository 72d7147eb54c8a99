// `portolan lab as-root COMMAND …`: for programs inside the lab of an ordinary user that want to be a fuller root than one
// can be there. Not for people: the lab puts it in front of such programs.
import { becomeWithQuietSetgroups } from '../lab/setgroups.ts';

export async function run(args: readonly string[]): Promise<number> {
  return becomeWithQuietSetgroups(args);
}
