// Every way in which talking to the API server fails, as one error value. The message says what was asked and what came
// back; callers ask isExpired(error) and the like instead of reading text.

export type ApiErrorCode =
  | 'API_CONFIG' // the kubeconfig, a key file or the environment cannot be used
  | 'API_CREDENTIALS' // a token file or credential plugin gave nothing usable
  | 'API_UNREACHABLE' // no connection: refused, no route, no such name, TLS failure, proxy failure, no answer in time
  | 'API_CUT' // the connection ended in the middle of an answer
  | 'API_STALLED' // the connection stands, but nothing came for too long
  | 'API_STATUS' // the server, or something in front of it, answered with an error status
  | 'API_CONTENT'; // an answer that is not the JSON we asked for

export interface ApiErrorDetail {
  readonly code: ApiErrorCode;
  readonly message: string;
  /** HTTP status, for API_STATUS. */
  readonly status?: number;
  /** The Status object's reason: `Expired`, `NotFound`, ... */
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterSeconds: number;

  constructor({ code, message, status, reason, retryAfterSeconds, cause }: ApiErrorDetail) {
    super(message, { cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = status ?? 0;
    this.reason = reason ?? '';
    this.retryAfterSeconds = retryAfterSeconds ?? 0;
  }
}

/** 410: the version is older than what the server remembers. */
export function isExpired(error: ApiError): boolean {
  return error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone';
}

/** The version is newer than anything the server knows, as after a restore from a backup. */
export function isTooLarge(error: ApiError): boolean {
  return error.reason === TOO_LARGE || (error.status === 504 && /too large resource version/i.test(error.message));
}

export function isTooManyRequests(error: ApiError): boolean {
  return error.status === 429;
}

/** The server cannot be reached or did not finish; what it knows is unchanged, as far as we can tell. */
export function isTransport(error: ApiError): boolean {
  return error.code === 'API_UNREACHABLE' || error.code === 'API_CUT' || error.code === 'API_STALLED';
}

const TOO_LARGE = 'ResourceVersionTooLarge';

/** The error that a Status object stands for, as the body of an answer or inside an ERROR event. */
export function statusError(asked: string, body: unknown, httpStatus = 0, retryAfterSeconds = 0): ApiError {
  const status = asStatus(body);
  const code = httpStatus || status.code || 500;
  const isLarge = status.details?.causes?.some((cause) => cause.reason === TOO_LARGE) ?? false;
  const reason = isLarge ? TOO_LARGE : status.reason;
  const answer = [String(code), reason, status.message].filter((part) => part).join(' ');
  return new ApiError({
    code: 'API_STATUS',
    message: `${asked}: the server answered ${answer}`,
    status: code,
    retryAfterSeconds: retryAfterSeconds || status.details?.retryAfterSeconds || 0,
    ...(reason ? { reason } : {}),
  });
}

interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly { readonly reason?: string }[] };
}

function asStatus(body: unknown): Status {
  const isStatus = typeof body === 'object' && body !== null && (body as { kind?: unknown }).kind === 'Status';
  return isStatus ? (body as Status) : {};
}
