import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../api/objects.ts';
import { createLog, DEFAULT_LOG_SETTINGS } from '../observe/log.ts';
import { NodeNameCheck } from './node-name.ts';

function check(nodeName: string): { readonly named: NodeNameCheck; readonly lines: string[] } {
  const lines: string[] = [];
  const log = createLog(DEFAULT_LOG_SETTINGS, { write: (_, line) => lines.push(line), now: () => 0, pid: 1 });
  return { named: new NodeNameCheck(nodeName, log), lines };
}

function sliceOn(...nodeNames: readonly (string | undefined)[]): EndpointSlice {
  return { endpoints: nodeNames.map((nodeName) => ({ nodeName })) } as unknown as EndpointSlice;
}

test('a node that no endpoint is on says so once, with the names it saw', () => {
  const { named, lines } = check('n1');
  named.see(sliceOn('a.example', 'b.example', undefined));
  named.see(sliceOn('c.example', 'd.example'));
  named.complain();
  named.complain();
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^W.* node="n1" othersAreOn=\["a.example","b.example","c.example"\] /);
  named.see(sliceOn('n1'));
  named.see(sliceOn('n1'));
  assert.equal(lines.length, 2);
});

test('a node with an endpoint, and a cluster whose endpoints are on no node, are nothing to speak of', () => {
  const { named, lines } = check('n1');
  named.see(sliceOn(undefined));
  named.see(undefined);
  named.complain();
  named.see(sliceOn('n2', 'n1'));
  named.complain();
  assert.deepEqual(lines, []);
});
