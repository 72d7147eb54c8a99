// The metrics every Kubernetes component has: what it was built from, and which feature gates are on.
import type { Registry } from './metrics.ts';

/** The labels of kubernetes_build_info. Version fields name the Kubernetes version Portolan behaves as. */
export interface BuildInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** The runtime, in the place where upstream names its Go version: `node24.21.0`. */
  readonly goVersion: string;
  readonly compiler: string;
  /** `linux/amd64` */
  readonly platform: string;
}

export interface FeatureGate {
  readonly name: string;
  readonly stage: 'ALPHA' | 'BETA' | 'DEPRECATED' | ''; // empty: generally available
  readonly isEnabled: boolean;
}

export function addComponentMetrics(registry: Registry, build: BuildInfo, gates: readonly FeatureGate[]): void {
  const buildInfo = registry.gaugeBy(
    {
      name: 'kubernetes_build_info',
      help: '[BETA] Always 1; the labels tell the version and how it was built',
    },
    [
      'major',
      'minor',
      'git_version',
      'git_commit',
      'git_tree_state',
      'build_date',
      'go_version',
      'compiler',
      'platform',
    ],
  );
  buildInfo
    .of({
      major: build.major,
      minor: build.minor,
      git_version: build.gitVersion,
      git_commit: build.gitCommit,
      git_tree_state: build.gitTreeState,
      build_date: build.buildDate,
      go_version: build.goVersion,
      compiler: build.compiler,
      platform: build.platform,
    })
    .set(1);

  const enabled = registry.gaugeBy(
    { name: 'kubernetes_feature_enabled', help: '[BETA] 1 if the feature gate is on, 0 if it is off' },
    ['name', 'stage'],
  );
  for (const { name, stage, isEnabled } of gates) enabled.of({ name, stage }).set(isEnabled ? 1 : 0);
}
