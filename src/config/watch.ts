// Watches the configuration file that was loaded: the file itself, not its name. Writing to it or moving it away means that
// the process should end and be started anew with the new content. A new file under the old name (as when a ConfigMap
// volume is updated), a deletion, or a change of attributes means nothing.
import { closeSync, fstatSync, openSync, readFileSync, realpathSync, watch } from 'node:fs';

export const CONFIG_UPDATED = "content of the proxy server's configuration file was updated";

export interface ConfigWatch {
  close(): void;
}

/** Calls `onUpdate` once, at the first event that counts or at the first error of the watch itself. A change between the
 *  loading of `text` and this call counts too. */
export function watchConfigFile(path: string, text: string, onUpdate: (error: Error) => void): ConfigWatch {
  // An open descriptor keeps the inode: it can be read after a deletion, and the kernel announces only moves by `rename`.
  const descriptor = openSync(realpathSync(path), 'r');
  const loaded = Buffer.from(text);
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    watcher.close();
    closeSync(descriptor);
  };
  const finish = (error: Error) => {
    if (!isOpen) return;
    close();
    onUpdate(error);
  };
  const check = (event: string) => {
    if (!isOpen) return;
    try {
      // The kernel reports writes and changed attributes alike as `change`; only a write can change the content.
      const wasMoved = event === 'rename' && fstatSync(descriptor).nlink > 0;
      if (wasMoved || !contentOf(descriptor).equals(loaded)) finish(new Error(CONFIG_UPDATED));
    } catch (error) {
      finish(error as Error);
    }
  };

  const watcher = watch(`/proc/self/fd/${descriptor}`);
  watcher.on('change', check);
  watcher.on('error', finish);
  setImmediate(check, 'change');
  return { close };
}

function contentOf(descriptor: number): Buffer {
  return readFileSync(`/proc/self/fd/${descriptor}`);
}
