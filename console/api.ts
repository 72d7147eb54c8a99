// Asking the agent. Every address is relative, so that the page works behind `kubectl proxy` and in the lab too; the token, where
// one is needed, goes in a header and lives as long as the tab.
import type { ConsoleEvents } from '../src/observe/console/shapes.ts';

const TOKEN = 'portolan-token';

/** The agent wants a token, or another one. */
export class TokenNeeded extends Error {}

export async function ask<Shape>(path: string, signal?: AbortSignal): Promise<Shape> {
  const response = await request(path, signal);
  return (await response.json()) as Shape;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

async function request(path: string, signal?: AbortSignal): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const response = await fetch(path, {
    ...(token && { headers: { 'X-Portolan-Token': token } }),
    ...(signal && { signal }),
  });
  if (response.status === 401) throw new TokenNeeded(await response.text());
  if (!response.ok) throw new Error((await response.text()).trim() || `${path}: ${response.status}`);
  return response;
}

export interface EventHandlers {
  readonly event: <Name extends keyof ConsoleEvents>(name: Name, data: ConsoleEvents[Name]) => void;
  readonly connected: () => void;
  readonly lost: () => void;
}

const RETRY_MS = 1000;

/** Listens until the signal is aborted, through any number of broken connections. */
export async function listen(path: string, handlers: EventHandlers, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await request(path, signal);
      handlers.connected();
      await readEvents(response.body!, handlers);
    } catch (error) {
      if (signal.aborted || error instanceof TokenNeeded) return;
    }
    if (signal.aborted) return;
    handlers.lost();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, { event }: EventHandlers): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let pending = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = `${pending}${value}`.split('\n\n');
    pending = blocks.pop()!;
    for (const block of blocks) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? [];
      if (name && data) event(name as keyof ConsoleEvents, JSON.parse(data));
    }
  }
}
