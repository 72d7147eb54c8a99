// What the server adds to pods, deployments and replica sets that their authors left out.
import { isObject, type JsonObject } from '../object.ts';
import type { Container, Deployment, Pod, PodSpec, ReplicaSet } from '../types.ts';

export function fillPod({ spec }: Pod): void {
  fillPodSpec(spec);
  const more = spec as JsonObject;
  more.serviceAccountName ??= 'default';
  more.enableServiceLinks ??= true;
  more.preemptionPolicy ??= 'PreemptLowerPriority';
  more.priority ??= 0;
  // As admission does it: a pod stays five minutes on a node that is lost.
  spec.tolerations ??= [];
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    if (
      spec.tolerations.some(
        (toleration) => toleration.key === key || (!toleration.key && toleration.operator === 'Exists'),
      )
    )
      continue;
    spec.tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
  }
}

export function fillDeployment({ spec }: Deployment): void {
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  spec.strategy ??= {};
  spec.strategy.type ??= 'RollingUpdate';
  if (spec.strategy.type === 'RollingUpdate') {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxSurge ??= '25%';
    spec.strategy.rollingUpdate.maxUnavailable ??= '25%';
  } else delete spec.strategy.rollingUpdate;
  if (spec.template?.spec) fillPodSpec(spec.template.spec);
}

export function fillReplicaSet({ spec }: ReplicaSet): void {
  spec.replicas ??= 1;
  if (spec.template?.spec) fillPodSpec(spec.template.spec);
}

function fillPodSpec(spec: PodSpec): void {
  spec.restartPolicy ??= 'Always';
  spec.terminationGracePeriodSeconds ??= 30;
  const more = spec as JsonObject;
  more.dnsPolicy ??= 'ClusterFirst';
  more.schedulerName ??= 'default-scheduler';
  more.securityContext ??= {};
  for (const container of spec.containers ?? []) fillContainer(container);
}

function fillContainer(container: Container): void {
  const more = container as JsonObject;
  const tag = /:([^:/]+)$/.exec(container.image ?? '')?.[1] ?? 'latest';
  more.imagePullPolicy ??= tag === 'latest' ? 'Always' : 'IfNotPresent';
  more.terminationMessagePath ??= '/dev/termination-log';
  more.terminationMessagePolicy ??= 'File';
  more.resources ??= {};
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const value = more[probe];
    if (isObject(value)) fillProbe(value);
  }
}

function fillProbe(probe: JsonObject): void {
  probe.timeoutSeconds ??= 1;
  probe.periodSeconds ??= 10;
  probe.successThreshold ??= 1;
  probe.failureThreshold ??= 3;
  if (isObject(probe.httpGet)) {
    probe.httpGet.path ??= '/';
    probe.httpGet.scheme ??= 'HTTP';
  }
}
