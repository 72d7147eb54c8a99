// The version told to those who ask: the Kubernetes release whose behaviour this is.

export const KUBERNETES_VERSION = 'v1.36.4';

/** For `--version` and `--version=raw`. */
export function versionText(version: string, isRaw: boolean): string {
  if (!isRaw) return `Kubernetes ${version}\n`;
  const [major, minor] = version.slice(1).split('.');
  const info = {
    Major: major,
    Minor: minor,
    GitVersion: version,
    Compiler: `node ${process.version}`,
    Platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
  const fields = Object.entries(info).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
  return `version.Info{${fields.join(', ')}}\n`;
}

/** `--version=vX.Y.Z-something` may add to our version, but not claim another. */
export function reportedVersionProblem(version: string): string | undefined {
  const [base] = version.split(/[-+]/);
  if (base === KUBERNETES_VERSION) return undefined;
  return `version ${JSON.stringify(version)} must match major/minor/patch of default version "${KUBERNETES_VERSION}"`;
}
