// Who we are to the API server, right now. Files are read at every request: requests are rare (a watch lasts minutes), so
// a rotated token or certificate is used at once and there is no cache to go stale. A file that cannot be read while it is
// being replaced leaves the last good text in use.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import type { ApiConfig, Source } from './config.ts';
import { ApiError } from './error.ts';
import { type ExecCredential, runExecPlugin } from './exec-plugin.ts';
import type { ApiLog } from './log.ts';

export interface Identity {
  /** The Authorization header. */
  readonly authorization: string | undefined;
  /** PEM. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
}

export class Credentials {
  readonly #config: ApiConfig;
  readonly #clock: Clock;
  readonly #log: ApiLog;
  readonly #env: NodeJS.ProcessEnv;
  readonly #lastGood = new Map<string, string>();
  #plugin: Promise<ExecCredential> | undefined;

  constructor(config: ApiConfig, { clock, log, env }: { clock: Clock; log: ApiLog; env: NodeJS.ProcessEnv }) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#env = env;
  }

  async current(): Promise<Identity> {
    const { user, tls } = this.#config;
    const plugin = user.exec ? await this.#pluginCredential(user.exec) : undefined;
    return {
      authorization: authorization((await this.#text(user.token)) ?? plugin?.token, user.basic),
      certificate: (await this.#text(user.certificate)) ?? plugin?.certificate,
      key: (await this.#text(user.key)) ?? plugin?.key,
      ca: await this.#text(tls.ca),
    };
  }

  /** The server refused this identity; the plugin is asked again the next time. */
  forget(): void {
    this.#plugin = undefined;
  }

  async #pluginCredential(exec: NonNullable<ApiConfig['user']['exec']>): Promise<ExecCredential> {
    // Several watches may start at once: they share one run.
    this.#plugin ??= runExecPlugin(exec, this.#env);
    const plugin = this.#plugin;
    try {
      const credential = await plugin;
      if (credential.expiresAt === undefined || credential.expiresAt > this.#clock.wallNow()) return credential;
    } catch (error) {
      if (this.#plugin === plugin) this.#plugin = undefined;
      throw error;
    }
    if (this.#plugin === plugin) this.#plugin = runExecPlugin(exec, this.#env);
    return this.#plugin ?? plugin;
  }

  async #text(source: Source | undefined): Promise<string | undefined> {
    if (source === undefined) return undefined;
    if (source.kind === 'text') return source.text.trim();
    try {
      const text = (await readFile(source.path, 'utf8')).trim();
      if (text === '') throw new Error(`${source.path} is empty`);
      this.#lastGood.set(source.path, text);
      return text;
    } catch (cause) {
      const text = this.#lastGood.get(source.path);
      const problem = (cause as Error).message;
      if (text === undefined) throw new ApiError({ code: 'API_CREDENTIALS', message: problem, cause });
      this.#log.error('Cannot read a credential file; what it last held stays in use', {
        path: source.path,
        err: problem,
      });
      return text;
    }
  }
}

function authorization(token: string | undefined, basic: ApiConfig['user']['basic']): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (basic) return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
  return undefined;
}
