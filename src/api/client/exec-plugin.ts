// Runs a credential plugin (an `exec` entry of a kubeconfig). Out: the credential it printed, and until when it is good.
import { execFile } from 'node:child_process';
import type { ExecConfig } from './config.ts';
import { ApiError } from './error.ts';

export interface ExecCredential {
  readonly token: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since 1970; undefined: until the server refuses it. */
  readonly expiresAt: number | undefined;
}

const TIME_LIMIT_MS = 60_000;
const OUTPUT_LIMIT_BYTES = 1 << 20;

export async function runExecPlugin(config: ExecConfig, env: NodeJS.ProcessEnv): Promise<ExecCredential> {
  const info = {
    apiVersion: config.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(config.cluster ? { cluster: config.cluster } : {}) },
  };
  const output = await run(config, { ...env, ...config.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
  return parseExecCredential(output, config);
}

function run(config: ExecConfig, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: TIME_LIMIT_MS, maxBuffer: OUTPUT_LIMIT_BYTES };
    const child = execFile(config.command, [...config.args], options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const hint = isMissing && config.installHint !== '' ? `; ${config.installHint}` : '';
      const reason = isMissing ? `executable ${config.command} not found` : lastLine(stderr) || error.message;
      reject(unusable(config, `${reason}${hint}`, error));
    });
    child.stdin?.end(); // a plugin that asks for input shall get its end, not wait for us
  });
}

export function parseExecCredential(output: string, config: ExecConfig): ExecCredential {
  let document: { apiVersion?: unknown; kind?: unknown; status?: Record<string, unknown> };
  try {
    document = JSON.parse(output);
  } catch (cause) {
    throw unusable(config, 'its output is not JSON', cause);
  }
  if (document?.kind !== 'ExecCredential' || document.apiVersion !== config.apiVersion) {
    throw unusable(
      config,
      `it printed ${document?.apiVersion} ${document?.kind} where ${config.apiVersion} ExecCredential was expected`,
    );
  }
  const field = (name: string): string | undefined => {
    const value = document.status?.[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const certificate = field('clientCertificateData');
  const key = field('clientKeyData');
  if ((certificate === undefined) !== (key === undefined)) {
    throw unusable(config, 'it printed only one of clientCertificateData and clientKeyData');
  }
  if (field('token') === undefined && certificate === undefined) {
    throw unusable(config, 'it printed neither a token nor a client certificate');
  }
  const expiresAt = Date.parse(field('expirationTimestamp') ?? '');
  return { token: field('token'), certificate, key, expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? '';
}

function unusable(config: ExecConfig, reason: string, cause?: unknown): ApiError {
  return new ApiError({ code: 'API_CREDENTIALS', message: `credential plugin ${config.command}: ${reason}`, cause });
}
