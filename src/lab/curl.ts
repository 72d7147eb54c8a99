// Asks for a page many times from one place of the lab. In: who asks, what, how often. Out: a line per answer: who gave it.
import type { Lab } from './lab.ts';

export interface CurlRequest {
  readonly from: string;
  readonly url: string;
  readonly times: number;
}

export type CurlAnswer =
  | { readonly status: number; readonly servedBy: string | undefined; readonly body: string }
  | { readonly error: string };

/** How many questions are under way at once. */
const AT_ONCE = 8;

export async function* curl(lab: Lab, { from, url, times }: CurlRequest): AsyncGenerator<CurlAnswer> {
  const { host, namespace } = lab.place(from);
  for (let asked = 0; asked < times; asked += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, times - asked) }, async (): Promise<CurlAnswer> => {
      try {
        return await lab.pods.get(host, namespace, url);
      } catch (error) {
        return { error: errorText(error) };
      }
    });
    yield* await Promise.all(batch);
  }
}

/** `ECONNREFUSED` says more, and shorter, than Node's sentence. */
function errorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
