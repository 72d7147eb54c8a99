// An initramfs: files in the kernel's archive format (cpio "newc"). In: files by path. Out: the archive's bytes.

export type ArchiveFile =
  | { readonly path: string; readonly content: Uint8Array; readonly isProgram?: boolean }
  | { readonly path: string; readonly isFolder: true };

const FOLDER = 0o040755;
const PROGRAM = 0o100755;
const DATA = 0o100644;

export function archive(files: readonly ArchiveFile[]): Uint8Array {
  return Buffer.concat([...files.map(member), member({ path: 'TRAILER!!!', content: new Uint8Array() })]);
}

function member(file: ArchiveFile, index: number = 0): Uint8Array {
  const content = 'content' in file ? file.content : new Uint8Array();
  const mode = 'isFolder' in file ? FOLDER : file.isProgram ? PROGRAM : DATA;
  const name = Buffer.from(`${file.path}\0`);
  //            inode, mode, uid, gid, links, time, size, device ×2, special device ×2, length of the name, checksum
  const fields = [index + 1, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
  const head = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`);
  return Buffer.concat([padded(Buffer.concat([head, name])), padded(content)]);
}

function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
