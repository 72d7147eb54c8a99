// Shells for lessons. In one's own terminal `kubectl` and `portolan` are this lab's; in a place of the lab they are what is
// installed there.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askLabOnce } from '../control.ts';
import type { Place } from '../hosts.ts';
import { enterHostArgv, hostEnv } from '../inside-host.ts';
import { mainProgram, packageFile } from '../package-files.ts';
import { readState, type StateFolder } from '../state.ts';
import type { ShellIn } from './run.ts';

export function lessonShell(folder: StateFolder): ShellIn {
  const bin = writePrograms(folder);
  return async (place, line) => {
    if (place === undefined) {
      const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, KUBECONFIG: folder.kubeconfig };
      return { argv: ['sh', '-c', `cd "$1" && ${line}`, 'sh', packageFile('examples')], env };
    }
    const { host } = await askLabOnce<Place>(folder, 'place', place);
    return { argv: enterHostArgv(readState(folder).sandboxPid, host, ['sh', '-c', line]), env: hostEnv(place) };
  };
}

/** In the lab's own folder, which goes with it. */
function writePrograms(folder: StateFolder): string {
  const bin = join(folder.path, 'bin');
  mkdirSync(bin, { recursive: true });
  const portolan = `${quoted(process.execPath)} --disable-warning=ExperimentalWarning ${quoted(mainProgram())}`;
  const programs = {
    portolan: `exec ${portolan} "$@"`,
    kubectl: `PATH=\${PATH#*:} exec kubectl --cache-dir=${quoted(folder.kubectlCache)} "$@"`,
  };
  for (const [name, line] of Object.entries(programs))
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o700 });
  return bin;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
