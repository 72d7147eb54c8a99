// What a pod's program is to the lab: something that serves on ports and may ask others. Programs are small functions of this
// process; their sockets live in the pod's own network, so every packet is as real as any.
import type net from 'node:net';

export interface Question {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The address the question came from, as the pod sees it. */
  readonly source: string;
  readonly port: number;
}

export interface Reply {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

/** What a program knows of the pod it runs in, and can do there. */
export interface PodView {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  readonly ips: readonly string[];
  /** Gets a page from inside the pod; names are those of the cluster. */
  get(url: string): Promise<Page>;
  /** The addresses of a full name, `summary.yaobank.svc.cluster.local`; undefined if there is no such name. */
  resolve(name: string): readonly string[] | undefined;
  log(line: string): void;
}

export interface Page {
  readonly status: number;
  readonly body: string;
  /** The pod that says it answered. */
  readonly servedBy: string | undefined;
}

export type Service =
  | { readonly kind: 'http'; readonly answer: (question: Question) => Promise<Reply> | Reply }
  | { readonly kind: 'tcp'; readonly accept: (socket: net.Socket) => void }
  | { readonly kind: 'udp'; readonly answer: (question: Uint8Array, source: string) => Uint8Array | undefined };

export interface Listener {
  readonly port: number;
  readonly service: Service;
}

export interface Program {
  readonly about: string;
  /** Which images it stands for. */
  readonly images: RegExp;
  /** The ports it serves; `asked` are those its container names. */
  listen(pod: PodView, asked: readonly AskedPort[]): readonly Listener[];
}

export interface AskedPort {
  readonly port: number;
  readonly protocol: string;
}

/** Every HTTP answer of a pod names it in this header, so that whoever asks can count. */
export const SERVED_BY = 'x-served-by';
