// The kubeconfig with which kubectl finds a server.

export interface KubeconfigOptions {
  readonly url: string;
  readonly cluster?: string;
  readonly token?: string;
  /** PEM, for a server with TLS. */
  readonly certificateAuthority?: string;
}

/** JSON, which is YAML too. */
export function kubeconfigText({
  url,
  cluster = 'portolan-lab',
  token,
  certificateAuthority,
}: KubeconfigOptions): string {
  const ca = certificateAuthority && {
    'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server: url, ...ca } }],
    users: [{ name: cluster, user: token ? { token } : {} }],
    contexts: [{ name: cluster, context: { cluster, user: cluster } }],
    'current-context': cluster,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
