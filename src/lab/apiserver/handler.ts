// One HTTP request, from its bytes to its answer: who asks, what for, which fault it meets, and which part serves it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Access, authenticate, authorize } from './access.ts';
import type { PodRuntime } from './controllers/pods.ts';
import { discoveryDocument } from './discovery.ts';
import { type ConnectToNode, serveNodeProxy } from './node-proxy.ts';
import { type Pages, readList, readOne, requireStored } from './read.ts';
import { type ApiRequest, parseRequest, unknownPath } from './request.ts';
import { scaleOf } from './scale.ts';
import { ApiError, expired, statusOf } from './status.ts';
import type { Pod } from './types.ts';
import { serveWatch, type WatchSettings } from './watch.ts';
import type { World } from './world.ts';
import {
  type Answer,
  type Body,
  writeCreate,
  writeDelete,
  writeDeleteCollection,
  writePatch,
  writeUpdate,
} from './write.ts';

export interface HandlerSettings extends WatchSettings {
  readonly world: World;
  readonly pages: Pages;
  readonly access: readonly Access[] | undefined;
  readonly runtime: PodRuntime | undefined;
  readonly onRequest: ((request: ApiRequest) => void) | undefined;
  readonly connectToNode: ConnectToNode | undefined;
}

export async function handle(
  settings: HandlerSettings,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (serveNodeProxy(message, response, settings.connectToNode, settings.access)) return;
    const url = new URL(message.url ?? '/', 'http://server');
    const access = authenticate(settings.access, message.headers.authorization);
    const request = parseRequest(message, url);
    if (request) {
      authorize(access, request);
      settings.onRequest?.(request);
      await serve(settings, request, message, response);
    } else {
      const document = discoveryDocument(url.pathname, message.headers.accept ?? '');
      if (!document) throw unknownPath('', url.pathname);
      response.writeHead(200, { 'Content-Type': document.contentType });
      response.end(document.body);
    }
  } catch (error) {
    sendError(response, error);
  }
}

async function serve(
  settings: HandlerSettings,
  request: ApiRequest,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { faults, world } = settings;
  const { verb, resource } = request;
  const body = await readBody(message);
  const delay = faults.take('delay', resource.plural, verb);
  if (delay) await new Promise((resolve) => setTimeout(resolve, delay.ms));
  if (faults.take('hang', resource.plural, verb)) return;
  const refusal = faults.take('answer', resource.plural, verb);
  if (refusal) throw faultAnswer(refusal.status, refusal.retryAfterSeconds);
  if (verb === 'watch') return serveWatch(world, settings, request, response);
  const answer = await answerTo(settings, request, body);
  if (faults.take('truncate', resource.plural, verb)) return sendHalf(response, answer);
  send(response, answer);
}

async function answerTo({ world, pages, runtime }: HandlerSettings, request: ApiRequest, body: Body): Promise<Answer> {
  requireSubresource(request);
  switch (request.verb) {
    case 'get':
      if (request.subresource === 'log') return readLog(requireStored(world, request).object as Pod, runtime);
      return ok(
        request.subresource === 'scale'
          ? JSON.stringify(scaleOf(requireStored(world, request).object))
          : readOne(world, request),
      );
    case 'list':
      return ok(await readList(world, pages, request));
    case 'create':
      return writeCreate(world, request, body);
    case 'update':
      return writeUpdate(world, request, body);
    case 'patch':
      return writePatch(world, request, body);
    case 'delete':
      return writeDelete(world, request, body);
    default:
      return writeDeleteCollection(world, request, body);
  }
}

function requireSubresource({ resource, subresource }: ApiRequest): void {
  if (subresource === undefined || (resource.subresources as readonly string[]).includes(subresource)) return;
  throw unknownPath(resource.group, `${resource.plural}/${subresource}`);
}

async function readLog(pod: Pod, runtime: PodRuntime | undefined): Promise<Answer> {
  if (!runtime?.log) throw unknownPath('', 'pods/log');
  return { ...ok(await runtime.log(pod)), contentType: 'text/plain' };
}

function ok(text: string): Answer {
  return { code: 200, text, warnings: [] };
}

function send(response: ServerResponse, { code, text, warnings, contentType = 'application/json' }: Answer): void {
  const headers: Record<string, string | string[] | number> = {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-cache, private',
  };
  if (warnings.length > 0) headers.Warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`);
  response.writeHead(code, headers);
  response.end(text);
}

/** Promises the whole length, so that the client can tell. */
function sendHalf(response: ServerResponse, { code, text }: Answer): void {
  response.writeHead(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length >> 1), () => response.destroy());
}

function sendError(response: ServerResponse, error: unknown): void {
  const known =
    error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${error}`);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const retryAfter = known.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
  send(response, { code: known.code, text: JSON.stringify(statusOf(known)), warnings: [] });
}

export function faultAnswer(status: number, retryAfterSeconds?: number): ApiError {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  if (status === 410) return expired('too old resource version: 1 (2)');
  if (status === 429) {
    return new ApiError(
      429,
      'TooManyRequests',
      'Too many requests, please try again later.',
      details ?? { retryAfterSeconds: 1 },
    );
  }
  return new ApiError(
    status,
    status === 500 ? 'InternalError' : 'Unknown',
    `Internal error occurred: injected ${status}`,
    details,
  );
}

async function readBody(message: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return { contentType: message.headers['content-type'] ?? '', bytes: Buffer.concat(chunks) };
}
