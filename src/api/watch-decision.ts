// In: where the list-watch loop stood and how its last attempt ended.  Out: what it does next, and whether it waits first.
// All of the loop's policy is in this one pure function.
import { type ApiError, isExpired, isTooLarge, isTooManyRequests } from './client/error.ts';

/** `stream`: read everything as a watch with initial events. `list`: read everything with LIST. `watch`: follow changes. */
export type Phase = 'stream' | 'list' | 'watch';

export interface Position {
  readonly phase: Phase;
  /** The last version seen; '' before the first, and after it was refused. */
  readonly version: string;
  /** The server did not accept the version: the latest state is to be read, whatever it costs the server. */
  readonly isVersionRefused: boolean;
}

export const START: Position = { phase: 'stream', version: '', isVersionRefused: false };

/** How an attempt ended, at the position it had reached by then. */
export type Outcome = {
  readonly position: Position;
  readonly lastedMs: number;
  readonly events: number;
} & (
  | { readonly kind: 'listed' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: ApiError }
  | { readonly kind: 'rewound'; readonly to: string }
);

export interface Decision {
  readonly next: Position;
  readonly waits: boolean;
  readonly level: 'none' | 'info' | 'error';
  /** What happened. */
  readonly problem: string;
}

const SHORT_WATCH_MS = 1000;

export function decide(outcome: Outcome): Decision {
  const { position } = outcome;
  switch (outcome.kind) {
    case 'listed':
      return { next: { ...position, phase: 'watch' }, waits: false, level: 'none', problem: '' };
    case 'rewound':
      return go('stream', forgetVersion(position), {
        waits: true, // two servers with two histories behind one address would otherwise have us go in circles
        level: 'error',
        problem: `the server went back from version ${position.version} to ${outcome.to}, as after a restore from a backup`,
      });
    case 'ended':
      return afterEnd(outcome);
    case 'failed':
      if (position.phase === 'watch') return afterWatchFailure(outcome, outcome.error);
      return afterReadFailure(position, outcome.error);
  }
}

function afterEnd(outcome: Outcome): Decision {
  const { position } = outcome;
  if (position.phase !== 'watch') {
    // The next round asks with LIST, so that a server or proxy that cannot stream to the end still gets us the state.
    return go('list', position, {
      waits: true,
      level: 'error',
      problem: 'the stream ended before the initial state was complete',
    });
  }
  if (wasProductive(outcome)) return go('watch', position, {});
  return go('stream', position, {
    waits: true,
    level: 'error',
    problem: 'very short watch: the server ended the stream within 1 s and without an event',
  });
}

function afterWatchFailure(outcome: Outcome, error: ApiError): Decision {
  const { position } = outcome;
  const problem = error.message;
  const isUnproductive = !wasProductive(outcome);
  if (isExpired(error)) return go('stream', position, { waits: isUnproductive, level: 'info', problem });
  if (isTooLarge(error))
    return go('stream', forgetVersion(position), { waits: isUnproductive, level: 'info', problem });
  // Nothing says that our version is no longer good, and reading everything again is what a server in trouble needs least.
  if (isTooManyRequests(error) || error.code === 'API_UNREACHABLE') {
    return go('watch', position, { waits: true, level: 'error', problem });
  }
  if (error.code === 'API_CUT') return go('watch', position, { waits: isUnproductive, level: 'info', problem });
  if (error.code === 'API_STALLED') return go('watch', position, { level: 'error', problem });
  return go('stream', position, { waits: true, level: 'error', problem });
}

function afterReadFailure(position: Position, error: ApiError): Decision {
  const problem = error.message;
  const { phase, version } = position;
  if (isExpired(error) || isTooLarge(error)) {
    if (version !== '') return go(phase, forgetVersion(position), { level: 'info', problem });
    return go('stream', position, { waits: true, level: 'error', problem });
  }
  if (phase === 'stream') {
    if (isRefusedForm(error)) return go('list', position, { level: 'info', problem });
    // Servers that do not know initial events start a plain watch and never say that the state is complete.
    if (error.code === 'API_STALLED') return go('list', position, { level: 'info', problem });
    if (error.code === 'API_CUT' || error.code === 'API_CONTENT') {
      return go('list', position, { waits: true, level: 'error', problem });
    }
  }
  return go('stream', position, { waits: true, level: 'error', problem });
}

/** The server read the request and does not know this kind of it. */
function isRefusedForm({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && ![401, 403, 429].includes(status);
}

function wasProductive({ lastedMs, events }: Outcome): boolean {
  return lastedMs >= SHORT_WATCH_MS || events > 0;
}

function forgetVersion(position: Position): Position {
  return { ...position, version: '', isVersionRefused: true };
}

function go(phase: Phase, from: Position, rest: Partial<Omit<Decision, 'next'>>): Decision {
  return { waits: false, level: 'none', problem: '', ...rest, next: { ...from, phase } };
}
