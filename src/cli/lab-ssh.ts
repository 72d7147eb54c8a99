// `portolan lab ssh NODE|POD`: a shell there.
import { execIn } from './lab-exec.ts';
import { UsageError } from './usage-error.ts';

export async function run(args: readonly string[]): Promise<number> {
  const [wanted] = args;
  if (!wanted || args.length > 1) throw new UsageError('lab ssh NODE|POD');
  // Without start-up files, which would bring back this machine's prompt and paths.
  return execIn(wanted, ['bash', '--noprofile', '--norc', '-i']);
}
