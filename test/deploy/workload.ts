// The parts of manifests that the tests of deploy/ look at.
export interface SecurityContext {
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop: readonly string[]; readonly add: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly securityContext: SecurityContext;
  readonly volumeMounts: readonly { readonly name: string }[];
}

export interface Workload {
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly hostNetwork: boolean;
        readonly priorityClassName: string;
        readonly serviceAccountName: string;
        readonly tolerations: readonly unknown[];
        readonly volumes: readonly { readonly name: string }[];
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
      };
    };
  };
}

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The server and token of a kubeconfig's current context. */
export function readClientConfig(text: unknown): { readonly server: string; readonly tokenFile: string } {
  const config = text as {
    readonly 'current-context': string;
    readonly contexts: readonly {
      readonly name: string;
      readonly context: { readonly cluster: string; readonly user: string };
    }[];
    readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
    readonly users: readonly { readonly name: string; readonly user: { readonly tokenFile: string } }[];
  };
  const { context } = config.contexts.find(({ name }) => name === config['current-context'])!;
  const { server } = config.clusters.find(({ name }) => name === context.cluster)!.cluster;
  const { tokenFile } = config.users.find(({ name }) => name === context.user)!.user;
  return { server, tokenFile };
}
