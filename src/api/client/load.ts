// In: the kubeconfig path, --master, the environment.  Out: an ApiConfig, or an ApiError that says what is missing.
import { readFile } from 'node:fs/promises';
import { ANONYMOUS, type ApiConfig } from './config.ts';
import { ApiError } from './error.ts';
import { parseKubeconfig, readKubeconfig } from './kubeconfig.ts';
import type { ApiLog } from './log.ts';

export interface ConfigSources {
  /** '' : none. */
  readonly kubeconfig: string;
  /** '' : none. Replaces the kubeconfig's server. */
  readonly master: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: ApiLog;
  /** Where the kubelet mounts the service account; tests have their own. */
  readonly serviceAccountFolder?: string;
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export async function loadApiConfig(sources: ConfigSources): Promise<ApiConfig> {
  const { kubeconfig, master } = sources;
  if (kubeconfig === '' && master === '') {
    sources.log.info('Neither kubeconfig file nor master URL was specified, falling back to in-cluster config');
    return inClusterConfig(sources);
  }
  const config = kubeconfig === '' ? masterConfig(master) : parseKubeconfig(await readKubeconfig(kubeconfig), master);
  await checkReadable(config);
  return config;
}

async function inClusterConfig({ env, log, serviceAccountFolder }: ConfigSources): Promise<ApiConfig> {
  const folder = serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw configError(
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined',
    );
  }
  const token = `${folder}/token`;
  await readText(token);
  const ca = `${folder}/ca.crt`;
  const caProblem = await readText(ca).then(
    () => undefined,
    (error: ApiError) => error.message,
  );
  if (caProblem !== undefined) {
    log.error('Expected to load root CA config; the system roots are used instead', { path: ca, err: caProblem });
  }
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    tls: {
      ca: caProblem === undefined ? { kind: 'file', path: ca } : undefined,
      serverName: '',
      insecureSkipVerify: false,
    },
    proxyUrl: '',
    user: { ...ANONYMOUS, token: { kind: 'file', path: token } },
  };
}

function masterConfig(master: string): ApiConfig {
  return parseKubeconfig({ folder: '.', document: {} }, master);
}

/** What cannot be read now is a mistake in the configuration; what cannot be read later is a rotation in progress. */
async function checkReadable({ tls, user }: ApiConfig): Promise<void> {
  for (const source of [tls.ca, user.certificate, user.key, user.token]) {
    if (source?.kind === 'file') await readText(source.path);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw configError(openError(path, cause), cause);
  }
}

/** In the words operators know: `open <path>: no such file or directory`. */
function openError(path: string, cause: unknown): string {
  const errno = (cause as NodeJS.ErrnoException).code ?? '';
  const words: Record<string, string> = { ENOENT: 'no such file or directory', EACCES: 'permission denied' };
  return `open ${path}: ${words[errno] ?? (cause as Error).message}`;
}

function configError(message: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'API_CONFIG', message, cause });
}
