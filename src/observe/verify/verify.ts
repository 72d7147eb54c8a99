// In: what the objects mean, the planned rules, and those that are there.  Out: every case in which they do not agree, with the
// cause. Work is done in slices: a generator that pauses after each, so that the agent can verify without keeping a sync waiting.
import { hostPort } from '../../lib/ip.ts';
import type { NodeModel } from '../../model/model.ts';
import { packetFrom } from '../trace/clients.ts';
import type { AddressBook } from '../trace/frontends.ts';
import type { Origins } from '../trace/origin.ts';
import type { Surroundings } from '../trace/packet.ts';
import type { Ruleset } from '../trace/ruleset.ts';
import { Walker } from '../trace/walk.ts';
import { casesOf, type Neighbourhood } from './cases.ts';
import { type Cause, causeOf } from './cause.ts';
import { type Drift, type DriftScope, driftOf } from './drift.ts';
import { type Knock, meaningOf, type Setup } from './meaning.ts';
import { type Fate, fatesOf, fateText, sameFate } from './outcome-class.ts';

export interface VerifyInput {
  readonly model: NodeModel;
  readonly setup: Setup;
  readonly around: Neighbourhood;
  readonly host: Surroundings;
  readonly planned: Ruleset;
  /** Undefined: only the plan is compared with what the objects mean. */
  readonly held: Ruleset | undefined;
  readonly origins: Origins;
  readonly book: AddressBook;
  readonly scope: DriftScope;
}

export interface VerifyReport {
  readonly services: number;
  readonly frontends: number;
  /** Questions asked; each of the objects, of the planned rules, and of those that are there. */
  readonly cases: number;
  readonly mismatches: readonly Mismatch[];
  /** Cases that hang on a rule that cannot be judged. */
  readonly unjudged: readonly Mismatch[];
  /** Rules that differ from the plan without being the cause of a mismatch. */
  readonly drift: readonly Drift[];
}

export interface Mismatch {
  readonly service: string;
  /** `cluster-ip 10.96.0.1:80/tcp` */
  readonly frontend: string;
  /** `an outside client, 198.51.100.77` */
  readonly client: string;
  readonly expected: readonly string[];
  readonly planned: readonly string[];
  readonly actual: readonly string[];
  readonly cause: Cause;
}

export interface VerifyProgress {
  readonly cases: number;
  readonly mismatches: number;
}

export function* verification(input: VerifyInput, casesPerSlice = 200): Generator<VerifyProgress, VerifyReport> {
  const { model, planned, held } = input;
  const walkers = { planned: new Walker(planned), held: held && new Walker(held) };
  const mismatches: Mismatch[] = [];
  const unjudged: Mismatch[] = [];
  let cases = 0;
  let frontends = 0;
  for (const service of model.services.values()) {
    for (const port of service.ports) {
      frontends += port.frontends.length;
      for (const knock of casesOf(port, input.around)) {
        const found = check(knock, input, walkers);
        if (found) (found.isOpen ? unjudged : mismatches).push(found.mismatch);
        if (++cases % casesPerSlice === 0) yield { cases, mismatches: mismatches.length };
      }
    }
  }
  const blamed = new Set(mismatches.map(({ cause }) => cause.rule ?? `${cause.table} ${cause.chain}`));
  const isBlamed = (drift: Drift): boolean =>
    blamed.has(`${drift.table} ${drift.chain}`) ||
    ('rule' in drift && blamed.has(drift.rule)) ||
    ('row' in drift && blamed.has(drift.row));
  const drift = held ? driftOf(planned, held, input.scope) : [];
  return {
    services: model.services.size,
    frontends,
    cases,
    mismatches,
    unjudged,
    drift: drift.filter((one) => !isBlamed(one)),
  };
}

/** All at once. */
export function verify(input: VerifyInput): VerifyReport {
  const slices = verification(input, Number.MAX_SAFE_INTEGER);
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

interface Walkers {
  readonly planned: Walker;
  readonly held: Walker | undefined;
}

/** `isOpen`: it agrees if the rules that cannot be judged do not match. */
function check(
  knock: Knock,
  input: VerifyInput,
  walkers: Walkers,
): { readonly mismatch: Mismatch; readonly isOpen: boolean } | undefined {
  const { setup, host, origins, scope, book } = input;
  const { port, frontend, dst, client } = knock;
  const expected = meaningOf(knock, setup, host);
  const packet = packetFrom(client, dst, frontend.port, port.protocol);
  const held = walkers.held?.walk(packet, host);
  // Where the rules that are there do as they should, planned ones can only be wrong by being others, which is told as drift.
  if (held && agrees(fatesOf(held), expected)) return undefined;
  const planned = walkers.planned.walk(packet, host);
  const plannedFates = fatesOf(planned);
  const heldFates = held ? fatesOf(held) : plannedFates;
  const isPlanWrong = !agrees(plannedFates, expected);
  if (!held && !isPlanWrong) return undefined;

  const cause: Cause =
    isPlanWrong || !held || !input.held
      ? planCause(knock, book)
      : causeOf({
          expected,
          planned,
          held,
          plannedRules: input.planned,
          heldRules: input.held,
          origins,
          scope,
          isBackend: (address) => book.backend(address) !== undefined,
          asked: packet,
        });
  const isOpen = !isPlanWrong && heldFates.length > 1 && heldFates.some((fate) => sameFate(fate, expected));
  return {
    isOpen,
    mismatch: {
      service: port.displayName,
      frontend: `${frontend.kind} ${hostPort(dst, frontend.port)}/${port.protocol.toLowerCase()}`,
      client: `${client.name}, ${client.ip}`,
      expected: fateText(expected),
      planned: plannedFates.flatMap(fateText),
      actual: heldFates.flatMap(fateText),
      cause,
    },
  };
}

/** Rules cannot do what two Services mean at once. */
function planCause(knock: Knock, book: AddressBook): Cause {
  const [rival] = book.rivalsOf(knock);
  return rival ? { kind: 'contested-address', service: rival.displayName } : { kind: 'plan' };
}

function agrees(fates: readonly Fate[], expected: Fate): boolean {
  return fates.every((fate) => sameFate(fate, expected));
}
