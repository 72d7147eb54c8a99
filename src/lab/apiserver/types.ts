// The kinds that controllers, validation and tables read field by field. The schema has checked the types of every
// stored field, so an object of a kind may be read as that kind's type.
import type { KubeObject, ObjectMeta } from './object.ts';
import type { LabelSelector } from './selectors.ts';

export type ServicePort = {
  name?: string;
  protocol?: string;
  appProtocol?: string;
  port: number;
  targetPort?: number | string;
  nodePort?: number;
};

export type ServiceSpec = {
  type?: string;
  selector?: { [key: string]: string };
  ports?: ServicePort[];
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  externalIPs?: string[];
  externalName?: string;
  sessionAffinity?: string;
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } };
  externalTrafficPolicy?: string;
  internalTrafficPolicy?: string;
  trafficDistribution?: string;
  healthCheckNodePort?: number;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerIP?: string;
  loadBalancerClass?: string;
  loadBalancerSourceRanges?: string[];
  publishNotReadyAddresses?: boolean;
};

export type LoadBalancerIngress = { ip?: string; hostname?: string; ipMode?: string };

export type Service = KubeObject & {
  spec: ServiceSpec;
  status?: { loadBalancer?: { ingress?: LoadBalancerIngress[] } };
};

export type Condition = {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  lastProbeTime?: string;
  lastHeartbeatTime?: string;
  observedGeneration?: number;
};

export type Taint = { key: string; value?: string; effect: string };

export type Node = KubeObject & {
  spec?: { podCIDR?: string; podCIDRs?: string[]; unschedulable?: boolean; taints?: Taint[]; providerID?: string };
  status?: {
    addresses?: { type: string; address: string }[];
    conditions?: Condition[];
    nodeInfo?: { [field: string]: string };
  };
};

export type ContainerPort = { name?: string; containerPort: number; protocol?: string; hostPort?: number };

export type Container = {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string }[];
  ports?: ContainerPort[];
  readinessProbe?: { periodSeconds?: number; initialDelaySeconds?: number };
};

export type Toleration = {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
};

export type PodSpec = {
  nodeName?: string;
  nodeSelector?: { [key: string]: string };
  tolerations?: Toleration[];
  containers: Container[];
  restartPolicy?: string;
  hostname?: string;
  subdomain?: string;
  hostNetwork?: boolean;
  terminationGracePeriodSeconds?: number;
  readinessGates?: { conditionType: string }[];
};

export type ContainerState = {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { reason?: string; exitCode: number; startedAt?: string; finishedAt?: string };
};

export type ContainerStatus = {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state?: ContainerState;
  lastState?: ContainerState;
};

export type PodStatus = {
  phase?: string;
  reason?: string;
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  qosClass?: string;
  conditions?: Condition[];
  containerStatuses?: ContainerStatus[];
};

export type Pod = KubeObject & { spec: PodSpec; status?: PodStatus };

export type PodTemplate = { metadata?: Partial<ObjectMeta>; spec: PodSpec };

export type ReplicaSet = KubeObject & {
  spec: { replicas?: number; minReadySeconds?: number; selector: LabelSelector; template: PodTemplate };
  status?: {
    replicas?: number;
    fullyLabeledReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    observedGeneration?: number;
  };
};

export type Deployment = KubeObject & {
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplate;
    strategy?: { type?: string; rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string } };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    progressDeadlineSeconds?: number;
    paused?: boolean;
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    conditions?: Condition[];
  };
};

export type ObjectReference = {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
};

export type EndpointPort = { name?: string; protocol?: string; port?: number; appProtocol?: string };

export type SliceEndpoint = {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  hints?: { forZones?: { name: string }[]; forNodes?: { name: string }[] };
  targetRef?: ObjectReference;
};

export type EndpointSlice = KubeObject & {
  addressType: string;
  endpoints: SliceEndpoint[] | null;
  ports?: EndpointPort[] | null;
};

export type EndpointAddress = { ip: string; hostname?: string; nodeName?: string; targetRef?: ObjectReference };

export type EndpointSubset = {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: { name?: string; port: number; protocol?: string; appProtocol?: string }[];
};

export type Endpoints = KubeObject & { subsets?: EndpointSubset[] };

export type Namespace = KubeObject & { spec?: { finalizers?: string[] }; status?: { phase?: string } };

export type Event = KubeObject & {
  involvedObject: ObjectReference;
  related?: ObjectReference;
  reason?: string;
  message?: string;
  source?: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  count?: number;
  type?: string;
  action?: string;
  reportingComponent?: string;
  reportingInstance?: string;
  series?: { count?: number; lastObservedTime?: string };
};

export type ServiceCIDR = KubeObject & { spec?: { cidrs?: string[] }; status?: { conditions?: Condition[] } };
