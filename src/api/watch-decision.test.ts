import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, type ApiErrorCode, statusError } from './client/error.ts';
import { type Decision, decide, type Outcome, type Phase } from './watch-decision.ts';

const LONG = { lastedMs: 60_000, events: 5 };
const SHORT = { lastedMs: 10, events: 0 };

function at(phase: Phase, version = '10'): Outcome['position'] {
  return { phase, version, isVersionRefused: false };
}

const broken = (code: ApiErrorCode): ApiError => new ApiError({ code, message: code });
const answered = (status: number, reason = ''): ApiError => statusError('GET /x', { kind: 'Status', reason }, status);

/** `watch 10, now` */
function told({ next, waits }: Decision): string {
  return `${next.phase} ${next.version || 'latest'}, ${waits ? 'after a wait' : 'now'}`;
}

for (const [phase, error, time, expected] of [
  ['watch', broken('API_UNREACHABLE'), SHORT, 'watch 10, after a wait'],
  ['watch', answered(429), SHORT, 'watch 10, after a wait'],
  ['watch', broken('API_CUT'), LONG, 'watch 10, now'],
  ['watch', broken('API_CUT'), SHORT, 'watch 10, after a wait'],
  ['watch', broken('API_STALLED'), LONG, 'watch 10, now'],
  ['watch', broken('API_CONTENT'), LONG, 'stream 10, after a wait'],
  ['watch', broken('API_CREDENTIALS'), SHORT, 'stream 10, after a wait'],
  ['watch', answered(500), LONG, 'stream 10, after a wait'],
  ['watch', answered(401), SHORT, 'stream 10, after a wait'],
  ['watch', answered(410, 'Expired'), LONG, 'stream 10, now'],
  ['watch', answered(410, 'Expired'), SHORT, 'stream 10, after a wait'],
  ['watch', answered(504, 'ResourceVersionTooLarge'), LONG, 'stream latest, now'],
  ['stream', answered(410, 'Gone'), SHORT, 'stream latest, now'],
  ['stream', answered(504, 'ResourceVersionTooLarge'), SHORT, 'stream latest, now'],
  ['stream', answered(422, 'Invalid'), SHORT, 'list 10, now'],
  ['stream', answered(400), SHORT, 'list 10, now'],
  ['stream', answered(403), SHORT, 'stream 10, after a wait'],
  ['stream', answered(503), SHORT, 'stream 10, after a wait'],
  ['stream', broken('API_UNREACHABLE'), SHORT, 'stream 10, after a wait'],
  ['stream', broken('API_STALLED'), LONG, 'list 10, now'],
  ['stream', broken('API_CUT'), LONG, 'list 10, after a wait'],
  ['list', answered(410, 'Expired'), SHORT, 'list latest, now'],
  ['list', answered(500), SHORT, 'stream 10, after a wait'],
  ['list', broken('API_CUT'), SHORT, 'stream 10, after a wait'],
] as const) {
  const answer = error.status === 0 ? error.code : `${error.status} ${error.reason}`.trim();
  test(`${answer} in phase ${phase}, ${time === LONG ? 'after some time' : 'at once'}, leads to: ${expected}`, () => {
    const decision = decide({ kind: 'failed', error, position: at(phase), ...time });
    assert.equal(told(decision), expected);
    assert.notEqual(decision.level, 'none');
    assert.notEqual(decision.problem, '');
  });
}

test('a version that was refused once is not dropped for ever without a wait', () => {
  const first = decide({ kind: 'failed', error: answered(410), position: at('stream'), ...SHORT });
  const second = decide({ kind: 'failed', error: answered(410), position: first.next, ...SHORT });
  assert.equal(told(second), 'stream latest, after a wait');
});

test('what goes as it should is not logged', () => {
  assert.equal(decide({ kind: 'listed', position: at('watch'), ...SHORT }).level, 'none');
  assert.equal(decide({ kind: 'ended', position: at('watch'), ...LONG }).level, 'none');
});
