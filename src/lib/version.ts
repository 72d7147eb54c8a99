// Versions of kernels and programs: `6.1.0-13-amd64`, `1.8.9`.

/** Compares as many numbers as `wanted` has; a version that is not known ('') is never enough. */
export function isAtLeast(version: string, wanted: string): boolean {
  if (version === '') return false;
  const have = version.split(/[.-]/).map(Number);
  for (const [i, part] of wanted.split('.').map(Number).entries()) {
    const ours = have[i] ?? 0;
    if (ours !== part) return ours > part;
  }
  return true;
}
