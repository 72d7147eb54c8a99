// The lab's folder on this machine: how other commands find a running lab, and what a killed one leaves. It holds a socket, a
// kubeconfig and a description; all else lives in the sandbox and dies with it.
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What other commands need to know of a running lab. */
export interface LabState {
  readonly pid: number;
  /** The first process of its sandbox. */
  readonly sandboxPid: number;
  readonly url: string;
}

export interface StateFolder {
  readonly path: string;
  readonly socket: string;
  readonly kubeconfig: string;
  readonly kubectlCache: string;
}

/** One lab per user. */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): StateFolder {
  const path = env.XDG_RUNTIME_DIR
    ? join(env.XDG_RUNTIME_DIR, 'portolan-lab')
    : join(tmpdir(), `portolan-lab-${process.getuid?.() ?? 0}`);
  return {
    path,
    socket: join(path, 'control.sock'),
    kubeconfig: join(path, 'kubeconfig'),
    kubectlCache: join(path, 'kubectl-cache'),
  };
}

/** Whether a lab answers. A socket file alone says nothing: it outlives its process. */
export function isLabRunning(folder: StateFolder): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(folder.socket);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** An empty folder that only we may open. */
export function makeStateFolder({ path }: StateFolder): void {
  removeStateFolder({ path });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

export function removeStateFolder({ path }: Pick<StateFolder, 'path'>): void {
  // In a shared /tmp another user may have put a folder of this name, or a link, in our way.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && found.uid !== process.getuid?.()) throw new Error(`${path} belongs to somebody else`);
  rmSync(path, { recursive: true, force: true });
}

export function writeState({ path }: StateFolder, state: LabState): void {
  writeFileSync(join(path, 'lab.json'), `${JSON.stringify(state, undefined, 2)}\n`);
}

export function readState({ path }: StateFolder): LabState {
  return JSON.parse(readFileSync(join(path, 'lab.json'), 'utf8')) as LabState;
}
