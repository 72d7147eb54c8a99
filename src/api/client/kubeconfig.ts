// In: a kubeconfig document and the folder it came from.  Out: an ApiConfig for its current context.
// Unknown fields are ignored; what is named but missing is an error that names it.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ApiConfig, ApiUser, ExecConfig, Source } from './config.ts';
import { ApiError } from './error.ts';

export interface Kubeconfig {
  /** Relative paths in the document start here. */
  readonly folder: string;
  readonly document: unknown;
}

/** Reads YAML or JSON. The YAML reader is loaded only when it is needed. */
export async function readKubeconfig(path: string): Promise<Kubeconfig> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw invalid(
      isMissing ? `stat ${path}: no such file or directory` : `${path}: ${(cause as Error).message}`,
      cause,
    );
  }
  try {
    const document: unknown = text.trimStart().startsWith('{')
      ? JSON.parse(text)
      : (await import('yaml')).parse(text, { logLevel: 'error' });
    return { folder: dirname(resolve(path)), document };
  } catch (cause) {
    throw invalid(`error loading config file "${path}": ${(cause as Error).message}`, cause);
  }
}

/** `master`, if not empty, replaces the cluster's server. */
export function parseKubeconfig({ folder, document }: Kubeconfig, master = ''): ApiConfig {
  const root = map(document);
  const contextName = text(root['current-context']);
  const context = contextName === '' ? {} : named(root.contexts, 'context', contextName);
  const clusterName = text(context.cluster);
  const cluster = clusterName === '' ? {} : named(root.clusters, 'cluster', clusterName);
  const userName = text(context.user);
  const user = userName === '' ? {} : named(root.users, 'user', userName);

  const server = master || text(cluster.server);
  if (server === '' && contextName === '') {
    throw invalid('invalid configuration: no configuration has been provided, current-context is not set');
  }
  if (server === '') throw invalid(`invalid configuration: no server found for cluster "${clusterName}"`);
  return {
    server: serverUrl(server),
    tls: {
      ca: source(cluster, 'certificate-authority', folder),
      serverName: text(cluster['tls-server-name']),
      insecureSkipVerify: cluster['insecure-skip-tls-verify'] === true,
    },
    proxyUrl: text(cluster['proxy-url']),
    user: parseUser(userName, user, cluster, folder, server),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parseUser(name: string, user: Fields, cluster: Fields, folder: string, server: string): ApiUser {
  const provider = text(map(user['auth-provider']).name);
  if (provider !== '') throw invalid(`no Auth Provider found for name "${provider}"`);

  const certificate = source(user, 'client-certificate', folder);
  const key = source(user, 'client-key', folder);
  if (certificate && !key) throw invalid(`invalid configuration: user "${name}" has a client certificate but no key`);
  if (key && !certificate) throw invalid(`invalid configuration: user "${name}" has a client key but no certificate`);

  const token = tokenSource(user, folder);
  const username = text(user.username);
  if (username !== '' && token) {
    throw invalid(`invalid configuration: user "${name}" has both a token and a username, only one is allowed`);
  }
  const exec =
    user.exec === undefined || user.exec === null ? undefined : parseExec(name, user, cluster, folder, server);
  return {
    certificate,
    key,
    token,
    basic: username === '' ? undefined : { username, password: text(user.password) },
    exec,
    impersonation: impersonation(user),
  };
}

/** `<field>-data` (base64) wins over the file named in `<field>`. */
function source(fields: Fields, field: string, folder: string): Source | undefined {
  const data = text(fields[`${field}-data`]);
  if (data !== '') return { kind: 'text', text: Buffer.from(data, 'base64').toString('utf8') };
  const path = text(fields[field]);
  return path === '' ? undefined : { kind: 'file', path: resolve(folder, path) };
}

/** A file wins over a text, because it can rotate. */
function tokenSource(user: Fields, folder: string): Source | undefined {
  const path = text(user.tokenFile);
  if (path !== '') return { kind: 'file', path: resolve(folder, path) };
  const token = text(user.token);
  return token === '' ? undefined : { kind: 'text', text: token };
}

function parseExec(name: string, user: Fields, cluster: Fields, folder: string, server: string): ExecConfig {
  const exec = map(user.exec);
  const problem = (reason: string): ApiError =>
    invalid(`invalid configuration: exec plugin of user "${name}": ${reason}`);
  const apiVersion = text(exec.apiVersion);
  if (!/^client\.authentication\.k8s\.io\/(v1|v1beta1)$/.test(apiVersion)) {
    throw problem(`apiVersion must be client.authentication.k8s.io/v1 or v1beta1, not "${apiVersion}"`);
  }
  const command = text(exec.command);
  if (command === '') throw problem('command must be specified');
  if (exec.interactiveMode === 'Always')
    throw problem('interactiveMode Always needs a terminal, which a proxy has not');
  const env = list(exec.env).map((entry) => [text(map(entry).name), text(map(entry).value)]);
  return {
    apiVersion,
    // A path is relative to the kubeconfig; a bare name is looked up in PATH.
    command: command.includes('/') ? resolve(folder, command) : command,
    args: list(exec.args).map(text),
    env: Object.fromEntries(env),
    installHint: text(exec.installHint),
    cluster: exec.provideClusterInfo === true ? clusterInfo(cluster, server) : undefined,
  };
}

function clusterInfo(cluster: Fields, server: string): Fields {
  const extensions = list(cluster.extensions).map(map);
  const config = extensions.find((extension) => extension.name === 'client.authentication.k8s.io/exec')?.extension;
  const copied = ['tls-server-name', 'insecure-skip-tls-verify', 'certificate-authority-data', 'proxy-url'].filter(
    (field) => cluster[field] !== undefined,
  );
  return {
    server,
    ...Object.fromEntries(copied.map((field) => [field, cluster[field]])),
    ...(config === undefined ? {} : { config }),
  };
}

function impersonation(user: Fields): ApiUser['impersonation'] {
  const headers: Record<string, string | readonly string[]> = {};
  if (text(user.as) !== '') headers['Impersonate-User'] = text(user.as);
  if (text(user['as-uid']) !== '') headers['Impersonate-Uid'] = text(user['as-uid']);
  if (list(user['as-groups']).length > 0) headers['Impersonate-Group'] = list(user['as-groups']).map(text);
  for (const [key, values] of Object.entries(map(user['as-user-extra']))) {
    headers[`Impersonate-Extra-${encodeURIComponent(key.toLowerCase())}`] = list(values).map(text);
  }
  return headers;
}

/** `10.0.0.1:8080` without a scheme is plain HTTP, as kubectl reads it. */
function serverUrl(server: string): string {
  const url = server.includes('://') ? server : `http://${server}`;
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw invalid(`invalid configuration: not a server URL: "${server}"`);
  return url.replace(/\/+$/, '');
}

/** The entry `{ name, [kind]: {...} }` of a list. */
function named(entries: unknown, kind: 'context' | 'cluster' | 'user', name: string): Fields {
  const entry = list(entries).find((candidate) => map(candidate).name === name);
  if (entry === undefined) throw invalid(`invalid configuration: ${kind} "${name}" does not exist`);
  return map(map(entry)[kind]);
}

function map(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

function invalid(message: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'API_CONFIG', message, cause });
}
