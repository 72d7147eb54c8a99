// How to reach the API server and as whom: what kubeconfig, in-cluster environment and flags come down to. Plain data; files
// are named, not read, so that those who use them can read them again when they change.

export interface ApiConfig {
  /** `https://10.0.0.1:6443`, with a path where the kubeconfig has one. */
  readonly server: string;
  readonly tls: {
    /** Undefined: the system's roots. */
    readonly ca: Source | undefined;
    /** '' : the host of `server`. */
    readonly serverName: string;
    readonly insecureSkipVerify: boolean;
  };
  /** '' : as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. */
  readonly proxyUrl: string;
  readonly user: ApiUser;
}

export interface ApiUser {
  readonly certificate: Source | undefined;
  readonly key: Source | undefined;
  /** A text, or a file that is read again about once a minute. */
  readonly token: Source | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  readonly exec: ExecConfig | undefined;
  /** Impersonate-* headers. */
  readonly impersonation: Readonly<Record<string, string | readonly string[]>>;
}

/** Text given directly, or the file it is in. */
export type Source =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string };

export interface ExecConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  /** What the plugin is told of the cluster in KUBERNETES_EXEC_INFO, where it asks for it. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
}

export const ANONYMOUS: ApiUser = {
  certificate: undefined,
  key: undefined,
  token: undefined,
  basic: undefined,
  exec: undefined,
  impersonation: {},
};
