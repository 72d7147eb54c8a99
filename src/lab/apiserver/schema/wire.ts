// Numbers of fields in Kubernetes' protobuf form, for the types that clients send in it: kubectl 1.32 and later do so when
// they create deployments, services and namespaces or delete pods. Names stand in the order of their numbers, from 1 on;
// a number in between sets the next one.

export const WIRE_FIELDS: Readonly<Record<string, string>> = {
  ObjectMeta:
    'name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers',
  OwnerReference: 'kind 3 name uid apiVersion controller blockOwnerDeletion',
  LabelSelector: 'matchLabels matchExpressions',
  LabelSelectorRequirement: 'key operator values',

  Namespace: 'metadata spec status',
  NamespaceSpec: 'finalizers',
  NamespaceStatus: 'phase conditions',

  ConfigMap: 'metadata data binaryData immutable',
  ServiceAccount: 'metadata secrets imagePullSecrets automountServiceAccountToken',
  ObjectReference: 'kind namespace name uid apiVersion resourceVersion fieldPath',

  Service: 'metadata spec status',
  ServiceSpec:
    'ports selector clusterIP type externalIPs 7 sessionAffinity loadBalancerIP loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig 17 ipFamilyPolicy clusterIPs ipFamilies allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy trafficDistribution',
  ServicePort: 'name protocol port targetPort nodePort appProtocol',
  SessionAffinityConfig: 'clientIP',
  ClientIPConfig: 'timeoutSeconds',
  ServiceStatus: 'loadBalancer conditions',
  LoadBalancerStatus: 'ingress',
  LoadBalancerIngress: 'ip hostname ipMode ports',

  Deployment: 'metadata spec status',
  DeploymentSpec:
    'replicas selector template strategy minReadySeconds revisionHistoryLimit paused 9 progressDeadlineSeconds',
  DeploymentStrategy: 'type rollingUpdate',
  RollingUpdateDeployment: 'maxUnavailable maxSurge',
  DeploymentStatus:
    'observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions readyReplicas collisionCount',

  Pod: 'metadata spec status',
  PodTemplateSpec: 'metadata spec',
  PodSpec:
    'volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext imagePullSecrets hostname subdomain affinity schedulerName initContainers automountServiceAccountToken tolerations hostAliases priorityClassName priority dnsConfig shareProcessNamespace readinessGates runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources',
  Container:
    'name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy volumeDevices startupProbe resizePolicy restartPolicy',
  ContainerPort: 'name hostPort containerPort protocol hostIP',
  EnvVar: 'name value valueFrom',
  Toleration: 'key operator value effect tolerationSeconds',

  Scale: 'metadata spec status',
  ScaleSpec: 'replicas',
  ScaleStatus: 'replicas selector',

  DeleteOptions: 'gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun',
  Preconditions: 'uid resourceVersion',
};

/** Fields that are sent only when they are set, so that a zero in them means zero. All others are always sent. */
export const MEANT_ZEROS: ReadonlySet<string> = new Set([
  'replicas',
  'gracePeriodSeconds',
  'terminationGracePeriodSeconds',
  'revisionHistoryLimit',
  'allocateLoadBalancerNodePorts',
  'automountServiceAccountToken',
  'enableServiceLinks',
  'orphanDependents',
  'controller',
  'blockOwnerDeletion',
]);

/** Field names by number. */
export function wireFields(type: string): ReadonlyMap<number, string> | undefined {
  const text = WIRE_FIELDS[type];
  if (text === undefined) return undefined;
  const fields = new Map<number, string>();
  let next = 1;
  for (const word of text.split(' ')) {
    if (/^\d+$/.test(word)) next = Number(word);
    else fields.set(next++, word);
  }
  return fields;
}
