// Objects of any shape: nothing throws, every oddity is named, and no object writes a line of its own into the rules.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Problem } from '../../src/api/objects.ts';
import { parseEndpointSlice, parseService } from '../../src/api/parse.ts';
import { FAMILIES } from '../../src/lib/ip.ts';
import type { Manifest } from '../support/golden.ts';
import { oddLine } from '../support/iptables-shapes.ts';
import {
  fieldOf,
  malformedStream,
  pathsOf,
  replaced,
  valueAt,
  WHOLE_SERVICE,
  WHOLE_SLICE,
} from '../support/malformed.ts';
import { rulesOf, takeAll } from '../support/malformed-plan.ts';
import { serviceManifest } from '../support/manifests.ts';

test('no stream of objects stops the pipeline, or makes it write a line of another shape', () =>
  fc.assert(
    fc.property(malformedStream, (stream) => {
      const { tracker, problems } = takeAll(stream);
      for (const problem of problems) assertReadable(problem);
      for (const family of FAMILIES) {
        const odd = rulesOf(tracker, family)
          .trimEnd()
          .split('\n')
          .map(oddLine)
          .filter((line) => line !== undefined);
        assert.deepEqual(odd, []);
      }
    }),
    { numRuns: 600 },
  ));

test('whole objects have no problem', () => {
  const { problems } = takeAll([WHOLE_SERVICE, WHOLE_SLICE].map((raw) => ({ kind: raw.kind, raw })));
  assert.deepEqual(problems, []);
});

describe('a value of the wrong type is a problem that names object and field', () => {
  // Read by nobody, or of no fixed shape.
  const UNREAD = ['kind', 'metadata.labels.app'];
  for (const [whole, parse] of [
    [WHOLE_SERVICE, parseService],
    [WHOLE_SLICE, parseEndpointSlice],
  ] as const) {
    for (const path of pathsOf(whole).filter((at) => !UNREAD.includes(fieldOf(at)))) {
      test(`${whole.kind} ${fieldOf(path)}`, () => {
        for (const wrong of wrongTypes(valueAt(whole, path))) {
          const { problems } = parse(replaced(whole, path, wrong));
          assert.ok(
            problems.some((problem) => isAbout(problem, whole, fieldOf(path))),
            `${JSON.stringify(wrong)}: ${JSON.stringify(problems)}`,
          );
        }
      });
    }
  }
});

test('a service with more endpoints than a call has arguments is planned', () => {
  const endpoints = Array.from({ length: 130_000 }, (_, i) => ({
    addresses: [`10.${100 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`],
  }));
  const { tracker } = takeAll([
    { kind: 'Service', raw: serviceManifest('shop/cart') },
    { kind: 'EndpointSlice', raw: { ...WHOLE_SLICE, endpoints } },
  ]);
  assert.ok(rulesOf(tracker, 'IPv4').length > 1_000_000);
});

/** One line that a log and a person can take. */
function assertReadable({ object, field, reason }: Problem): void {
  assert.match(object, /^(Service|EndpointSlice|Endpoints|Node|ServiceCIDR) [\x21-\x7e]+$/);
  assert.ok(object.length < 600 && field.length < 200 && reason.length < 300, `${object} ${field} ${reason}`);
  assert.doesNotMatch(field + reason, /[\n\r\0]/);
  assert.notEqual(reason, '');
}

function wrongTypes(right: unknown): readonly unknown[] {
  const others = [7.5, 'no such "thing"\n', true, ['x'], { x: 1 }];
  const kindOf = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value);
  return others.filter((other) => kindOf(other) !== kindOf(right));
}

function isAbout({ object, field, reason }: Problem, { kind, metadata }: Manifest, wanted: string): boolean {
  const isName = wanted.startsWith('metadata');
  const plain = field.replace(/\[([^\d].*)\]$/, '.$1');
  return (
    reason !== '' &&
    (isName ? object.startsWith(kind) : object === `${kind} ${metadata.namespace}/${metadata.name}`) &&
    (plain === wanted || wanted.startsWith(plain) || plain.startsWith(wanted))
  );
}
