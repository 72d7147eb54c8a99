// One request to the API server, as those who ask write it down.

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** `/api/v1/services` */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Of the body; JSON unless told. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** A tenth of the bytes for more of the server's time: worth it for a list, and servers zip no watches. */
  readonly acceptsGzip?: boolean;
}

/** `GET /api/v1/services` */
export function asked({ method, path }: Pick<ApiRequest, 'method' | 'path'>): string {
  return `${method} ${path}`;
}
