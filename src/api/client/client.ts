// The API server as three calls: a JSON answer, a list in pieces, a stream of bytes. Built on node:http alone, because a
// client library costs more memory than all Services of a cluster. Every failure leaves here as an ApiError.
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { checkedAnswer, contentError, snippet } from './answer.ts';
import { readBody, streamOf } from './body.ts';
import type { ApiConfig } from './config.ts';
import { Credentials, type Identity } from './credentials.ts';
import { exchange, unreachable } from './exchange.ts';
import { ListSplitter } from './list-splitter.ts';
import { type ApiLog, silentLog } from './log.ts';
import { RateLimit } from './rate-limit.ts';
import { type ApiRequest, asked } from './request.ts';
import { Transport } from './transport.ts';

export interface ApiClientOptions {
  readonly userAgent: string;
  /** Requests per second over all users of this client; negative: no limit. */
  readonly qps: number;
  readonly burst: number;
  readonly log?: ApiLog;
  readonly clock?: Clock;
  readonly env?: NodeJS.ProcessEnv;
  /** Longest wait for the head of an answer, and between two pieces of a body. */
  readonly answerLimitMs?: number;
  /** Told of every request that was sent, for metrics. */
  readonly onRequest?: (request: RequestReport) => void;
}

export interface RequestReport {
  readonly method: string;
  /** `10.0.0.1:6443` */
  readonly host: string;
  /** `200`, or `<error>` where no answer came. */
  readonly code: string;
  /** Until the head of the answer. */
  readonly durationSeconds: number;
  readonly rateLimitedSeconds: number;
  readonly requestBytes: number;
  /** As the answer announces; undefined for streams, which do not. */
  readonly responseBytes: number | undefined;
  /** The code of the answer that made us send this request once more. */
  readonly retriedAfter?: string;
}

/** What surrounds the items of a list. */
export interface ListMetadata {
  readonly resourceVersion: string;
  /** '' : this was the last page. */
  readonly continueToken: string;
}

const ANSWER_LIMIT_MS = 60_000;

export class ApiClient {
  readonly #server: URL;
  readonly #options: ApiClientOptions;
  readonly #clock: Clock;
  readonly #credentials: Credentials;
  readonly #transport: Transport;
  readonly #rateLimit: RateLimit;
  readonly #impersonation: ApiConfig['user']['impersonation'];

  constructor(config: ApiConfig, options: ApiClientOptions) {
    const { log = silentLog, clock = systemClock, env = process.env } = options;
    this.#server = new URL(config.server);
    this.#options = options;
    this.#clock = clock;
    this.#credentials = new Credentials(config, { clock, log, env });
    this.#transport = new Transport(config, env, log);
    this.#rateLimit = new RateLimit(options.qps, options.burst, clock);
    this.#impersonation = config.user.impersonation;
  }

  get answerLimitMs(): number {
    return this.#options.answerLimitMs ?? ANSWER_LIMIT_MS;
  }

  async json(request: ApiRequest): Promise<unknown> {
    const response = await this.open(request);
    const text = await readBody(response, asked(request), this.answerLimitMs);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw contentError(request, `not JSON: ${snippet(text)}`, cause);
    }
  }

  /** One page of a list (all of it, if the query has no limit); every item is given away as soon as it has arrived. */
  async list(request: ApiRequest, onItem: (raw: unknown) => void, onContact?: () => void): Promise<ListMetadata> {
    const response = await this.open({ ...request, acceptsGzip: true });
    const splitter = new ListSplitter((json) => onItem(parseItem(request, json)));
    for await (const chunk of streamOf(response, asked(request), () => this.answerLimitMs)) {
      onContact?.();
      splitter.push(chunk);
    }
    try {
      const { metadata } = splitter.end() as { metadata?: { resourceVersion?: string; continue?: string } };
      return { resourceVersion: metadata?.resourceVersion ?? '', continueToken: metadata?.continue ?? '' };
    } catch (cause) {
      throw contentError(request, `not a list: ${(cause as Error).message}`, cause);
    }
  }

  /** Sends the request and returns the answer once it is known to be a good one in JSON; its body is still to come. */
  async open(request: ApiRequest): Promise<IncomingMessage> {
    const identity = await this.#credentials.current();
    const response = await this.#send(request, identity);
    if (response.statusCode !== 401) return checkedAnswer(request, response, this.answerLimitMs);

    // The token may have been rotated, or the plugin's credential have ended early: one more try as whoever we are now.
    this.#credentials.forget();
    const now = await this.#credentials.current();
    const isSame = now.authorization === identity.authorization && now.certificate === identity.certificate;
    if (isSame) return checkedAnswer(request, response, this.answerLimitMs);
    response.destroy();
    return checkedAnswer(request, await this.#send(request, now, '401'), this.answerLimitMs);
  }

  close(): void {
    this.#transport.close();
  }

  async #send(request: ApiRequest, identity: Identity, retriedAfter?: string): Promise<IncomingMessage> {
    const agent = this.#transport.agentFor(identity);
    const rateLimitedMs = await this.#rateLimit.take(request.signal);
    const startedAt = this.#clock.now();
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const report = (code: string, responseBytes?: number): void =>
      this.#options.onRequest?.({
        method: request.method,
        host: this.#server.host,
        code,
        durationSeconds: (this.#clock.now() - startedAt) / 1000,
        rateLimitedSeconds: rateLimitedMs / 1000,
        requestBytes: Buffer.byteLength(body ?? ''),
        responseBytes,
        ...(retriedAfter !== undefined && { retriedAfter }),
      });
    try {
      const response = await exchange(this.#url(request), request, {
        agent,
        headers: this.#headers(request, identity, body),
        body,
        answerLimitMs: this.answerLimitMs,
      });
      const announced = response.headers['content-length'];
      report(String(response.statusCode), announced === undefined ? undefined : Number(announced));
      return response;
    } catch (cause) {
      report('<error>');
      throw unreachable(request, this.#server.host, cause);
    }
  }

  #url({ path, query }: ApiRequest): URL {
    const url = new URL(this.#server);
    url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
    url.search = query ? new URLSearchParams(query).toString() : '';
    return url;
  }

  #headers(request: ApiRequest, { authorization }: Identity, body: string | undefined): OutgoingHttpHeaders {
    return {
      'user-agent': this.#options.userAgent,
      accept: 'application/json',
      ...(request.acceptsGzip ? { 'accept-encoding': 'gzip' } : {}),
      ...(authorization === undefined ? {} : { authorization }),
      ...(this.#impersonation as OutgoingHttpHeaders),
      ...(body === undefined
        ? {}
        : { 'content-type': request.contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
  }
}

function parseItem(request: ApiRequest, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw contentError(request, `an item is not JSON: ${snippet(json)}`, cause);
  }
}
