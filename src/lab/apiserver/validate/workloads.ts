// What must hold of pods and of the kinds that make pods.
import { type JsonObject, sameJson } from '../object.ts';
import { type LabelSelector, matchesLabelSelector } from '../selectors.ts';
import type { FieldError } from '../status.ts';
import type { Container, Deployment, Pod, PodSpec, PodTemplate, ReplicaSet } from '../types.ts';
import { duplicate, forbiddenField, IMMUTABLE, invalidValue, portNumber, required, supported } from './field.ts';
import { checkLabels } from './metadata.ts';
import { dnsLabel, portName } from './names.ts';

export function checkPod(pod: Pod, before: Pod | undefined): FieldError[] {
  return [...checkPodSpec(pod.spec, 'spec'), ...(before ? checkPodChange(pod.spec, before.spec) : [])];
}

function checkPodSpec(spec: PodSpec, field: string): FieldError[] {
  const containers = spec?.containers ?? [];
  return [
    ...(containers.length === 0 ? [required(`${field}.containers`)] : []),
    ...containers.flatMap((container, i) => [
      ...checkContainer(container, `${field}.containers[${i}]`),
      ...(containers.slice(0, i).some(({ name }) => name === container.name)
        ? [duplicate(`${field}.containers[${i}].name`, container.name)]
        : []),
    ]),
    ...supported(`${field}.restartPolicy`, spec?.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...checkLabels(spec?.nodeSelector, `${field}.nodeSelector`),
  ];
}

function checkContainer({ name, image, ports = [], env = [] }: Container, field: string): FieldError[] {
  return [
    ...(name ? dnsLabel(name).map((why) => invalidValue(`${field}.name`, name, why)) : [required(`${field}.name`)]),
    ...(image ? [] : [required(`${field}.image`)]),
    ...env.flatMap((variable, i) => (variable.name ? [] : [required(`${field}.env[${i}].name`)])),
    ...ports.flatMap((port, i) => [
      ...(port.containerPort === undefined
        ? [required(`${field}.ports[${i}].containerPort`)]
        : portNumber(`${field}.ports[${i}].containerPort`, port.containerPort)),
      ...supported(`${field}.ports[${i}].protocol`, port.protocol, ['TCP', 'UDP', 'SCTP']),
      ...(port.name
        ? portName(port.name).map((why) => invalidValue(`${field}.ports[${i}].name`, port.name!, why))
        : []),
    ]),
  ];
}

/** Most of a pod is fixed when it is created. Its node is set once, by the scheduler. */
function checkPodChange(spec: PodSpec, before: PodSpec): FieldError[] {
  const fixed = ({ containers, tolerations: _t, terminationGracePeriodSeconds: _g, ...rest }: PodSpec): JsonObject => {
    const { activeDeadlineSeconds: _a, ...others } = rest as JsonObject;
    return { ...others, containers: containers.map(({ image: _image, ...container }) => container) };
  };
  const wanted = { ...spec, ...(before.nodeName === undefined && { nodeName: undefined }) } as PodSpec;
  if (sameJson(fixed(wanted), fixed(before))) return [];
  const why =
    'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
  return [forbiddenField('spec', why)];
}

export function checkDeployment(deployment: Deployment, before: Deployment | undefined): FieldError[] {
  return checkReplicated(deployment.spec, before?.spec);
}

export function checkReplicaSet(replicaSet: ReplicaSet, before: ReplicaSet | undefined): FieldError[] {
  return checkReplicated(replicaSet.spec, before?.spec);
}

interface Replicated {
  readonly replicas?: number;
  readonly selector: LabelSelector;
  readonly template: PodTemplate;
}

function checkReplicated(spec: Replicated, before: Replicated | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const labels = spec.template?.metadata?.labels ?? {};
  if ((spec.replicas ?? 0) < 0) {
    errors.push(invalidValue('spec.replicas', spec.replicas!, 'must be greater than or equal to 0'));
  }
  if (!spec.selector) errors.push(required('spec.selector'));
  else if (isEmptySelector(spec.selector)) {
    errors.push(invalidValue('spec.selector', {}, 'empty selector is invalid for deployment'));
  } else if (!matchesLabelSelector(spec.selector, labels)) {
    errors.push(invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'));
  }
  if (before && !sameJson(spec.selector, before.selector)) {
    errors.push(invalidValue('spec.selector', spec.selector, IMMUTABLE));
  }
  errors.push(...checkLabels(labels, 'spec.template.metadata.labels'));
  errors.push(...checkPodSpec(spec.template?.spec, 'spec.template.spec'));
  errors.push(...supported('spec.template.spec.restartPolicy', spec.template?.spec?.restartPolicy, ['Always']));
  return errors;
}

function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}
