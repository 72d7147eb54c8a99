// In: a NodeModel.  Out: where flows through this node's services may lead, and where they led before the last change.
// A tracked UDP flow keeps the endpoint it was given for as long as packets come, so a client that never stops would talk to
// a pod that is gone, for ever. Which flows those are is decided in stale.ts from what stands here.
import type { Family } from '../lib/ip.ts';
import type { NodeModel, ServiceModel, ServicePort } from '../model/model.ts';

/** One address that clients dial. */
export interface FlowTarget {
  /** Undefined for a node port, which answers on every address of the node. */
  readonly ip: string | undefined;
  readonly port: number;
  /** `ip:port` of every endpoint that serves; empty: none does. */
  readonly serving: ReadonlySet<string>;
}

export interface FlowTargets {
  readonly family: Family;
  /** By `namespace/name`; services without the protocol are absent. */
  readonly services: ReadonlyMap<string, readonly FlowTarget[]>;
  /** Addresses that were dropped since the last clean-up, with who served them. */
  readonly retired: readonly FlowTarget[];
  readonly serviceCIDRs: readonly string[];
}

/** Of UDP: `previous` gives up its unchanged services to the result and must not be used afterwards. */
export function flowTargets(model: NodeModel, previous?: FlowTargets): FlowTargets {
  const isFresh = model.isFresh || !previous;
  const before = previous?.services ?? new Map<string, readonly FlowTarget[]>();
  const services = isFresh ? new Map<string, readonly FlowTarget[]>() : (before as Map<string, readonly FlowTarget[]>);
  const names = isFresh ? new Set([...before.keys(), ...model.services.keys()]) : model.changed;
  const retired = [...(previous?.retired ?? [])];
  for (const name of names) {
    const old = before.get(name) ?? [];
    const targets = targetsOf(model.services.get(name), 'UDP');
    if (targets.length > 0) services.set(name, targets);
    else services.delete(name);
    retired.push(...missing(old, targets));
  }
  return { family: model.family, services, retired, serviceCIDRs: model.serviceCIDRs };
}

/** Of TCP, as it is now. Connections look after themselves once they are answered, so this is asked for now and then, and not kept. */
export function connectionTargets(model: NodeModel): FlowTargets {
  const services = new Map([...model.services].map(([name, service]) => [name, targetsOf(service, 'TCP')]));
  return { family: model.family, services, retired: [], serviceCIDRs: model.serviceCIDRs };
}

/** The same, where these addresses were served until now by somebody else. */
export function withRetired(targets: FlowTargets, more: readonly FlowTarget[]): FlowTargets {
  return more.length === 0 ? targets : { ...targets, retired: [...targets.retired, ...more] };
}

/** The same after a clean-up that succeeded: what was retired has no flows any more. */
export function withoutRetired(targets: FlowTargets): FlowTargets {
  return { ...targets, retired: [] };
}

function targetsOf(service: ServiceModel | undefined, protocol: 'TCP' | 'UDP'): FlowTarget[] {
  return (service?.ports ?? [])
    .filter((port) => port.protocol === protocol)
    .flatMap((port) => {
      const serving = new Set(protocol === 'UDP' ? port.serving : chosen(port));
      return port.frontends.map((frontend) => ({
        ip: frontend.kind === 'node-port' ? undefined : frontend.ip,
        port: frontend.port,
        serving,
      }));
    });
}

/** Where the rules lead, whoever asks. */
function chosen({ backends }: ServicePort): string[] {
  return [...backends.cluster, ...backends.local].map(({ address }) => address);
}

function missing(before: readonly FlowTarget[], after: readonly FlowTarget[]): FlowTarget[] {
  return before.filter((old) => !after.some((target) => target.ip === old.ip && target.port === old.port));
}
