// Feature gates. In: the names and values someone set. Out: what is on, or why the setting is refused. Gate lists are
// often shared between components, so the name of any Kubernetes gate is accepted; only those below change what we do.
import type { LogEntry } from '../observe/log-format.ts';
import { USERSPACE_GATE } from './configuration.ts';
import { KUBERNETES_GATE_NAMES } from './feature-gate-names.ts';

export type GateStage = 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED' | 'PORTOLAN';

export interface FeatureGate {
  readonly name: string;
  readonly stage: GateStage;
  readonly isEnabled: boolean;
}

interface GateSpec {
  readonly stage: GateStage;
  readonly default: boolean;
  readonly isLocked?: true;
}

const GATES: Readonly<Record<string, GateSpec>> = {
  AllowServiceExternalIPs: { stage: 'GA', default: true },
  ComponentFlagz: { stage: 'BETA', default: true },
  ComponentStatusz: { stage: 'BETA', default: true },
  ContextualLogging: { stage: 'BETA', default: true },
  LoggingAlphaOptions: { stage: 'ALPHA', default: false },
  LoggingBetaOptions: { stage: 'BETA', default: true },
  MultiCIDRServiceAllocator: { stage: 'GA', default: true, isLocked: true },
  NativeHistograms: { stage: 'ALPHA', default: false },
  NFTablesProxyMode: { stage: 'GA', default: true, isLocked: true },
  PreferSameTrafficDistribution: { stage: 'GA', default: true, isLocked: true },
  [USERSPACE_GATE]: { stage: 'PORTOLAN', default: false },
  WatchListClient: { stage: 'BETA', default: true },
  WinDSR: { stage: 'GA', default: true, isLocked: true },
  WinOverlay: { stage: 'GA', default: true, isLocked: true },
};

/** Gates that stand for all gates of a stage which are not named themselves. */
const STAGE_GATES: Readonly<Record<string, GateStage>> = { AllAlpha: 'ALPHA', AllBeta: 'BETA' };

export type GateResult =
  | { readonly gates: readonly FeatureGate[]; readonly notes: readonly LogEntry[] }
  | { readonly problems: readonly string[] };

export function resolveGates(given: Readonly<Record<string, boolean>>): GateResult {
  const problems: string[] = [];
  const notes: LogEntry[] = [];
  for (const [name, value] of Object.entries(given)) {
    const spec = specOf(name);
    if (spec === undefined) {
      if (!Object.hasOwn(STAGE_GATES, name) && !KUBERNETES_GATE_NAMES.has(name)) {
        problems.push(`unrecognized feature gate: ${name}`);
      }
    } else if (spec.isLocked && value !== spec.default) {
      problems.push(`cannot set feature gate ${name} to ${value}, feature is locked to ${spec.default}`);
    } else if (spec.stage === 'GA' || spec.stage === 'DEPRECATED') {
      const stage = spec.stage === 'GA' ? 'GA' : 'deprecated';
      const message = `Setting ${stage} feature gate ${name}=${value}. It will be removed in a future release.`;
      notes.push({ severity: 'warning', message, isPlain: true });
    }
  }
  if (problems.length > 0) return { problems };
  return { gates: Object.entries(GATES).map(([name, spec]) => gateOf(name, spec, given)), notes };
}

export function isGateEnabled(gates: readonly FeatureGate[], name: string): boolean {
  return gates.some((gate) => gate.name === name && gate.isEnabled);
}

function specOf(name: string): GateSpec | undefined {
  return Object.hasOwn(GATES, name) ? GATES[name] : undefined;
}

function gateOf(name: string, spec: GateSpec, given: Readonly<Record<string, boolean>>): FeatureGate {
  const stageGate = Object.keys(STAGE_GATES).find((gate) => STAGE_GATES[gate] === spec.stage);
  const ofStage = stageGate === undefined ? undefined : given[stageGate];
  return { name, stage: spec.stage, isEnabled: given[name] ?? ofStage ?? spec.default };
}
