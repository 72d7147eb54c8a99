// Which strategy each kind has: how its names are formed, what is filled in, what is checked, how it comes to its end.
import { fillService } from './defaults/service.ts';
import { fillDeployment, fillPod, fillReplicaSet } from './defaults/workloads.ts';
import type { KubeObject } from './object.ts';
import type { Resource } from './resources.ts';
import { allocateService } from './service-allocation.ts';
import type { Strategy } from './strategy.ts';
import type { Deployment, EndpointSlice, Endpoints, Namespace, Pod, ReplicaSet, Service } from './types.ts';
import { checkEndpointSlice, checkEndpoints } from './validate/endpoints.ts';
import { checkMetadata } from './validate/metadata.ts';
import { dnsLabel, dnsLabel1035, dnsSubdomain, type NameForm } from './validate/names.ts';
import { checkService } from './validate/service.ts';
import { checkDeployment, checkPod, checkReplicaSet } from './validate/workloads.ts';

export function strategyOf(resource: Resource): Strategy {
  return STRATEGIES[resource.storage] ?? PLAIN;
}

/** A strategy's check, after what must hold of every object's metadata. */
function named(form: NameForm, strategy: Strategy = {}): Strategy {
  return {
    ...strategy,
    check: (object, before, world) => {
      const wrong = checkMetadata(object, form);
      return wrong.length > 0 ? wrong : (strategy.check?.(object, before, world) ?? []);
    },
  };
}

const PLAIN: Strategy = named(dnsSubdomain);

const STRATEGIES: Readonly<Record<string, Strategy>> = {
  services: named(dnsLabel1035, {
    prepare: (object) => {
      object.status = { loadBalancer: {} };
    },
    fill: (object, before) => fillService(object as Service, before as Service | undefined),
    check: (object, before) => checkService(object as Service, before as Service | undefined),
    allocate: (object, before, world) => allocateService(object as Service, before as Service | undefined, world),
  }),

  endpointslices: named(dnsSubdomain, {
    fill: (object) => {
      const slice = object as EndpointSlice;
      slice.endpoints ??= [];
      slice.ports ??= [];
      for (const port of slice.ports) {
        port.name ??= '';
        port.protocol ??= 'TCP';
      }
    },
    check: (object, before) => checkEndpointSlice(object as EndpointSlice, before as EndpointSlice | undefined),
  }),

  endpoints: named(dnsSubdomain, {
    fill: (object) => {
      for (const { ports = [] } of (object as Endpoints).subsets ?? [])
        for (const port of ports) port.protocol ??= 'TCP';
    },
    check: (object) => checkEndpoints(object as Endpoints),
  }),

  pods: named(dnsSubdomain, {
    prepare: (object) => {
      object.status = { phase: 'Pending', qosClass: 'BestEffort' };
    },
    fill: (object) => fillPod(object as Pod),
    check: (object, before) => checkPod(object as Pod, before as Pod | undefined),
    // A pod that runs nowhere has nothing to end.
    graceSeconds: (object, asked) => {
      const { spec, status } = object as Pod;
      const runs = spec.nodeName !== undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
      return runs ? (asked ?? spec.terminationGracePeriodSeconds ?? 30) : 0;
    },
  }),

  deployments: named(dnsSubdomain, {
    prepare: clearStatus,
    fill: (object) => fillDeployment(object as Deployment),
    check: (object, before) => checkDeployment(object as Deployment, before as Deployment | undefined),
  }),

  replicasets: named(dnsSubdomain, {
    prepare: (object) => {
      object.status = { replicas: 0 };
    },
    fill: (object) => fillReplicaSet(object as ReplicaSet),
    check: (object, before) => checkReplicaSet(object as ReplicaSet, before as ReplicaSet | undefined),
  }),

  namespaces: named(dnsLabel, {
    prepare: (object) => {
      object.spec = { finalizers: ['kubernetes'] };
      object.status = { phase: 'Active' };
    },
    fill: ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
    },
    // It goes when all that is in it has gone, which the namespace controller sees to.
    staysForNow: (object) => ((object as Namespace).spec?.finalizers ?? []).length > 0,
  }),
};

function clearStatus(object: KubeObject): void {
  object.status = {};
}
