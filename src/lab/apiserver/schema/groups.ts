// Types of the other groups: apps, discovery.k8s.io, events.k8s.io, networking.k8s.io, autoscaling.
import { TOP } from './core.ts';
import type { TypeText } from './language.ts';

export const APPS_TYPES: Readonly<Record<string, TypeText>> = {
  Deployment: { ...TOP, spec: 'DeploymentSpec', status: 'DeploymentStatus' },
  DeploymentSpec: {
    replicas: 'int32 — How many pods there should be.',
    selector: 'LabelSelector! — Which pods are its own. It cannot be changed later.',
    template: 'PodTemplateSpec! — What its pods look like.',
    strategy: 'DeploymentStrategy — How pods are replaced when the template changes.',
    minReadySeconds: 'int32 — How long a pod must be ready before it counts.',
    revisionHistoryLimit: 'int32 — How many old replica sets are kept.',
    paused: 'bool — Whether changes of the template wait.',
    progressDeadlineSeconds: 'int32',
  },
  DeploymentStrategy: { type: 'string', rollingUpdate: 'RollingUpdateDeployment' },
  RollingUpdateDeployment: { maxUnavailable: 'intOrString', maxSurge: 'intOrString' },
  DeploymentStatus: {
    observedGeneration: 'int64',
    replicas: 'int32',
    updatedReplicas: 'int32',
    readyReplicas: 'int32',
    availableReplicas: 'int32',
    unavailableReplicas: 'int32',
    terminatingReplicas: 'int32',
    collisionCount: 'int32',
    conditions: '[]Condition by type',
  },
  ReplicaSet: { ...TOP, spec: 'ReplicaSetSpec', status: 'ReplicaSetStatus' },
  ReplicaSetSpec: {
    replicas: 'int32 — How many pods there should be.',
    minReadySeconds: 'int32',
    selector: 'LabelSelector! — Which pods are its own.',
    template: 'PodTemplateSpec — What its pods look like.',
  },
  ReplicaSetStatus: {
    replicas: 'int32',
    fullyLabeledReplicas: 'int32',
    readyReplicas: 'int32',
    availableReplicas: 'int32',
    terminatingReplicas: 'int32',
    observedGeneration: 'int64',
    conditions: '[]Condition by type',
  },
};

export const DISCOVERY_TYPES: Readonly<Record<string, TypeText>> = {
  EndpointSlice: {
    ...TOP,
    addressType: 'string! — IPv4, IPv6 or FQDN; it cannot be changed.',
    endpoints: '[]Endpoint! — The endpoints of this slice.',
    ports: '[]EndpointPort — The ports that every one of them has.',
  },
  Endpoint: {
    addresses: '[]string! — The first is used.',
    conditions: 'EndpointConditions',
    hostname: 'string',
    nodeName: 'string — The node it is on.',
    zone: 'string — The zone of that node.',
    hints: 'EndpointHints — Who should prefer it.',
    targetRef: 'ObjectReference',
    deprecatedTopology: 'map string',
  },
  EndpointConditions: {
    ready: 'bool — It may get new connections.',
    serving: 'bool — It answers, even if it is about to end.',
    terminating: 'bool — It is about to end.',
  },
  EndpointHints: { forZones: '[]ForZone', forNodes: '[]ForNode' },
  ForZone: { name: 'string!' },
  ForNode: { name: 'string!' },
  EndpointPort: { name: 'string', protocol: 'string', port: 'int32', appProtocol: 'string' },
};

export const EVENTS_TYPES: Readonly<Record<string, TypeText>> = {
  EventV1: {
    ...TOP,
    eventTime: 'time',
    series: 'EventSeries',
    reportingController: 'string',
    reportingInstance: 'string',
    action: 'string',
    reason: 'string — Why, in one word.',
    regarding: 'ObjectReference — What it happened to.',
    related: 'ObjectReference',
    note: 'string — What happened.',
    type: 'string — Normal or Warning.',
    deprecatedSource: 'EventSource',
    deprecatedFirstTimestamp: 'time',
    deprecatedLastTimestamp: 'time',
    deprecatedCount: 'int32',
  },
};

export const NETWORKING_TYPES: Readonly<Record<string, TypeText>> = {
  ServiceCIDR: { ...TOP, spec: 'ServiceCIDRSpec', status: 'ServiceCIDRStatus' },
  ServiceCIDRSpec: { cidrs: '[]string — Networks from which cluster IPs are taken, at most one of each family.' },
  ServiceCIDRStatus: { conditions: '[]Condition by type' },
};

export const AUTOSCALING_TYPES: Readonly<Record<string, TypeText>> = {
  Scale: { ...TOP, spec: 'ScaleSpec', status: 'ScaleStatus' },
  ScaleSpec: { replicas: 'int32' },
  ScaleStatus: { replicas: 'int32', selector: 'string' },
};
