// What the server answers when it says no: a Status object with Kubernetes' code, reason and words, which clients act on.
import type { JsonObject } from './object.ts';
import { qualifiedName, type Resource } from './resources.ts';

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
}

export function statusOf(error: ApiError): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: error.message,
    reason: error.reason,
    ...(error.details && { details: JSON.parse(JSON.stringify(error.details)) as JsonObject }),
    code: error.code,
  };
}

export function success(details: JsonObject): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

export function notFound(resource: Resource, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualifiedName(resource)} "${name}" not found`, named(resource, name));
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  const message = `${qualifiedName(resource)} "${name}" already exists`;
  return new ApiError(409, 'AlreadyExists', message, named(resource, name));
}

export function conflict(resource: Resource, name: string, why = MODIFIED): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, named(resource, name));
}
const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function forbidden(message: string, details?: StatusDetails): ApiError {
  return new ApiError(403, 'Forbidden', message, details);
}

/** The client's version is older than what the server remembers. */
export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

/** The client's version is one the server has not reached: it comes from another history. */
export function tooLargeVersion(asked: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

export function unsupportedMediaType(message: string): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', message);
}

export function methodNotAllowed(
  message = 'the server does not allow this method on the requested resource',
): ApiError {
  return new ApiError(405, 'MethodNotAllowed', message);
}

/** One thing wrong with an object. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueForbidden'
    | 'FieldValueNotSupported'
    | 'FieldValueDuplicate'
    | 'FieldValueTooMany';
  /** All behind the field's name: `Invalid value: 70000: must be between 1 and 65535, inclusive` */
  readonly message: string;
}

export function invalid(resource: Resource, name: string, errors: readonly FieldError[]): ApiError {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const kind = resource.group ? `${resource.kind}.${resource.group}` : resource.kind;
  return new ApiError(422, 'Invalid', `${kind} "${name}" is invalid: ${list}`, {
    name,
    ...(resource.group && { group: resource.group }),
    kind: resource.kind,
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

function named(resource: Resource, name: string): StatusDetails {
  return { name, ...(resource.group && { group: resource.group }), kind: resource.plural };
}
