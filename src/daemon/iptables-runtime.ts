// iptables mode at work in one family.

import { withRetired } from '../flows/targets.ts';
import { isInUserNamespace } from '../kernel/host.ts';
import type { Iptables } from '../kernel/iptables.ts';
import { readSysctlIfAny } from '../kernel/sysctl.ts';
import { kernelState } from '../modes/iptables/apply.ts';
import { watchCanary } from '../modes/iptables/canary.ts';
import type { IptablesChange, KernelState } from '../modes/iptables/diff.ts';
import { INVALID_DROPPED_COUNTER, type IptablesFacts, LOCALHOST_NODE_PORTS_COUNTER } from '../modes/iptables/facts.ts';
import { heldFlowTargets } from '../modes/iptables/held-flows.ts';
import { iptablesMode } from '../modes/iptables/iptables.ts';
import type { IptablesPlan } from '../modes/iptables/plan.ts';
import { familyNodePorts, iptablesFacts } from '../node/facts.ts';
import type { FamilyState } from '../pipeline.ts';
import { commonRuntime, type ModeRuntime, type RulesRuntimeOptions, untouched } from './runtime.ts';

export interface IptablesRuntimeOptions extends RulesRuntimeOptions {
  /** Makes a packet counter unless it exists; true if it does now. */
  readonly ensureCounter: (name: string) => Promise<boolean>;
  /** How many transactions of nf_tables this host has seen. */
  readonly generation: () => Promise<number>;
  /** Addresses of all interfaces of this host. */
  readonly hostIps: () => Promise<readonly string[]>;
}

export function iptablesRuntime(options: IptablesRuntimeOptions): ModeRuntime {
  const { family, iptables, settings, log, clock } = options;
  const conntrackIsLiberal = (readSysctlIfAny('net/netfilter/nf_conntrack_tcp_be_liberal') ?? '0') !== '0';
  let counters: IptablesFacts['counters'] | undefined;
  let lastChange: IptablesChange | undefined;

  const probe = async (): Promise<IptablesFacts> => {
    // Counters are looked after whenever everything is written anew: whoever flushed the rules may have removed them too.
    if (state.held === undefined || counters === undefined) {
      counters = {
        invalidDropped: await options.ensureCounter(INVALID_DROPPED_COUNTER),
        localhostNodePorts: await options.ensureCounter(LOCALHOST_NODE_PORTS_COUNTER),
      };
    }
    const { backend, hasRandomFully } = await iptables.version();
    const hostIps = familyNodePorts(settings, family).matchAll ? [] : await options.hostIps();
    return iptablesFacts(settings, family, {
      isInUserNamespace: isInUserNamespace(),
      backend,
      hasRandomFully,
      conntrackIsLiberal,
      counters,
      hostIps,
    });
  };
  // What stands may be of an agent that was killed, or of another proxy, with services that were deleted since.
  const read = async (): Promise<KernelState> => {
    const save = await iptables.save();
    if (state.flows) state.flows = withRetired(state.flows, heldFlowTargets(save));
    return kernelState(save);
  };
  const state: FamilyState<IptablesFacts, IptablesPlan, KernelState, IptablesChange, Iptables> = untouched(options, {
    mode: { ...iptablesMode, read },
    drivers: iptables,
    probe,
  });

  return {
    ...commonRuntime(state, ({ change }) => {
      lastChange = change;
    }),
    get checksHourly() {
      return state.plan?.isLargeCluster !== true;
    },
    watch: (listener, signal) =>
      watchCanary(
        {
          iptables,
          clock,
          intervalMs: options.syncPeriodMs,
          generation: async () =>
            (await iptables.version()).backend === 'nf_tables' ? options.generation() : undefined,
          isExpected: () => state.held !== undefined,
          onFlushed: () => listener.changed('the tables were flushed'),
          onInconsistent: () => log.warning('Inconsistent iptables state detected', { ipFamily: family }),
          onError: (error) =>
            log.error(error, 'Could not check whether the iptables rules still stand', { ipFamily: family }),
        },
        signal,
      ),
    measure: (metrics) => {
      const { plan } = state;
      if (!plan || !lastChange) return;
      for (const table of ['filter', 'nat'] as const) {
        metrics.iptablesRules.of({ table, ip_family: family }).set(plan.ruleCounts[table]);
        metrics.iptablesRulesWritten.of({ table, ip_family: family }).set(lastChange.rulesWritten[table]);
      }
    },
    countFailure: (metrics, wasFull) => {
      metrics.iptablesRestoreFailures.of({ ip_family: family }).increment();
      if (!wasFull) metrics.iptablesPartialRestoreFailures.of({ ip_family: family }).increment();
    },
  };
}
