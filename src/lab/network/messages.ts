// What a Network and the process inside its sandbox say to each other, over Node's channel between parent and child. A
// socket made for `listen`, `listenUdp` or `connect` comes along with the reply: its owner sits outside, the socket lives in the host.
import type { PageProbe, PageResult } from './page.ts';
import type { PacketProbe, PacketResult } from './probe.ts';
import type { Topology } from './topology.ts';

export interface Command {
  readonly host: string;
  readonly argv: readonly string[];
  readonly stdin?: string;
  /** Instead of ours; only PATH is kept, unless it is given too. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export interface Exit {
  /** Null if a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ExecResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Address {
  readonly host: string;
  readonly ip: string;
  readonly port: number;
}

/** By kind: what is asked, and what is answered. */
export interface Calls {
  add: { asks: { readonly topology: Topology }; gets: undefined };
  remove: { asks: { readonly host: string }; gets: undefined };
  exec: { asks: { readonly command: Command }; gets: ExecResult };
  /** `process` is the asker's number for it; the answer is its process id inside the sandbox. */
  spawn: { asks: { readonly process: number; readonly command: Command }; gets: number };
  kill: { asks: { readonly process: number; readonly signal: NodeJS.Signals }; gets: undefined };
  packets: { asks: { readonly probe: PacketProbe }; gets: PacketResult };
  page: { asks: { readonly probe: PageProbe }; gets: PageResult };
  listen: { asks: Address; gets: undefined };
  listenUdp: { asks: Address; gets: undefined };
  connect: { asks: Address; gets: undefined };
}

export type Request = {
  [Kind in keyof Calls]: { readonly id: number; readonly kind: Kind } & Calls[Kind]['asks'];
}[keyof Calls];

export type Message =
  | { readonly kind: 'reply'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly message: string; readonly code?: string }
  | {
      readonly kind: 'output';
      readonly process: number;
      readonly stream: 'stdout' | 'stderr';
      readonly data: Uint8Array;
    }
  | ({ readonly kind: 'exit'; readonly process: number } & Exit);
