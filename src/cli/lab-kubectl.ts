// `portolan lab kubectl …`: this machine's kubectl, led to the lab.
import { inherit } from './lab-exec.ts';
import { runningLab } from './lab-running.ts';

export async function run(args: readonly string[]): Promise<number> {
  const { folder } = await runningLab();
  try {
    // Its cache would otherwise stay in the home folder when the lab is gone.
    return await inherit('kubectl', [`--cache-dir=${folder.kubectlCache}`, ...args], {
      ...process.env,
      KUBECONFIG: folder.kubeconfig,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    process.stderr.write(
      'portolan lab kubectl: this machine has no kubectl (Debian: apt-get install kubernetes-client)\n',
    );
    return 127;
  }
}
