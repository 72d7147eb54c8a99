import assert from 'node:assert/strict';
import test from 'node:test';
import { type FeatureGate, isGateEnabled, resolveGates } from './feature-gates.ts';

function gates(given: Record<string, boolean>): readonly FeatureGate[] {
  const result = resolveGates(given);
  assert.ok('gates' in result);
  return result.gates;
}

function problems(given: Record<string, boolean>): readonly string[] {
  const result = resolveGates(given);
  assert.ok('problems' in result);
  return result.problems;
}

test('gates have the state of their release', () => {
  const enabled = gates({})
    .filter((gate) => gate.isEnabled)
    .map((gate) => gate.name);
  assert.deepEqual(enabled, [
    'AllowServiceExternalIPs',
    'ComponentFlagz',
    'ComponentStatusz',
    'ContextualLogging',
    'LoggingBetaOptions',
    'MultiCIDRServiceAllocator',
    'NFTablesProxyMode',
    'PreferSameTrafficDistribution',
    'WatchListClient',
    'WinDSR',
    'WinOverlay',
  ]);
});

test('names nobody knows and changes of locked gates are refused', () => {
  assert.deepEqual(problems({ Nonsense: true, WinDSR: false, toString: true }), [
    'unrecognized feature gate: Nonsense',
    'cannot set feature gate WinDSR to false, feature is locked to true',
    'unrecognized feature gate: toString',
  ]);
});

test('gates of other components are accepted without effect', () => {
  assert.deepEqual(gates({ SidecarContainers: false, KubeletTracing: true }), gates({}));
});

test('a stage can be switched as a whole, and a named gate wins over its stage', () => {
  const found = gates({ AllAlpha: true, NativeHistograms: false, AllBeta: false, WatchListClient: true });
  assert.equal(isGateEnabled(found, 'LoggingAlphaOptions'), true);
  assert.equal(isGateEnabled(found, 'NativeHistograms'), false);
  assert.equal(isGateEnabled(found, 'ComponentFlagz'), false);
  assert.equal(isGateEnabled(found, 'WatchListClient'), true);
  assert.equal(isGateEnabled(found, 'WinDSR'), true);
  assert.equal(isGateEnabled(found, 'PortolanUserspaceMode'), false);
});

test('setting a gate that is settled warns', () => {
  const result = resolveGates({ AllowServiceExternalIPs: false, WinDSR: true, WatchListClient: false });
  assert.ok('notes' in result);
  assert.deepEqual(
    result.notes.map((note) => note.message),
    [
      'Setting GA feature gate AllowServiceExternalIPs=false. It will be removed in a future release.',
      'Setting GA feature gate WinDSR=true. It will be removed in a future release.',
    ],
  );
});
