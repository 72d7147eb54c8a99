// In: one Service as the cluster has it, and what verification found about it.  Out: the questions of a guide to debugging
// Services, answered in order; the first bad answer is what to look at.
import type { EndpointSlice, Service } from '../../api/objects.ts';
import type { Family } from '../../lib/ip.ts';
import type { ServiceModel, ServicePort } from '../../model/model.ts';
import { causeText } from './cause.ts';
import type { Mismatch } from './verify.ts';

export interface Check {
  readonly question: string;
  readonly result: 'good' | 'bad' | 'note';
  readonly answer: string;
  /** What to do about it. */
  readonly advice?: string;
}

export interface Patient {
  readonly service: Service;
  readonly model: ServiceModel | undefined;
  readonly slices: readonly EndpointSlice[];
  /** All slices of the cluster: whether any of them knows this node. */
  readonly nodesInSlices: ReadonlySet<string>;
  readonly nodeName: string;
  readonly family: Family;
  readonly mismatches: readonly Mismatch[];
  /** `in the kernel`; undefined if only planned rules are known. */
  readonly rules: string | undefined;
  /** Settings of the kernel that forwarding needs, as far as they are known. */
  readonly isForwarding: boolean | undefined;
}

export function checkup(patient: Patient): readonly Check[] {
  return [
    addressCheck(patient),
    slicesCheck(patient),
    ...patientPorts(patient).flatMap((port) => portChecks(port, patient)),
    nodeNameCheck(patient),
    loadBalancerCheck(patient),
    ...(patient.isForwarding === undefined ? [] : [forwardingCheck(patient.isForwarding)]),
    rulesCheck(patient),
  ];
}

function addressCheck({ service, family }: Patient): Check {
  const question = 'Does the Service have an address?';
  const ip = service.clusterIPs[family];
  if (ip === undefined)
    return {
      question,
      result: 'bad',
      answer: `it has no ${family} cluster IP`,
      advice: `ask it by its ${family === 'IPv4' ? 'IPv6' : 'IPv4'} address, or set spec.ipFamilyPolicy`,
    };
  const ports = service.ports.map(({ port, protocol }) => `${port}/${protocol.toLowerCase()}`).join(', ');
  return { question, result: 'good', answer: `${ip}, ports ${ports}` };
}

function slicesCheck({ service, slices, family }: Patient): Check {
  const question = 'Are there EndpointSlices?';
  const ofFamily = slices.filter((slice) => slice.family === family);
  if (ofFamily.length === 0)
    return {
      question,
      result: 'bad',
      answer: `no ${family} EndpointSlice has the label kubernetes.io/service-name=${service.name}`,
      advice: 'does spec.selector match the labels of running Pods?',
    };
  const endpoints = ofFamily.reduce((sum, slice) => sum + slice.endpoints.length, 0);
  return { question, result: 'good', answer: `${ofFamily.length}, with ${endpoints} endpoints` };
}

function patientPorts({ model }: Patient): readonly ServicePort[] {
  return model?.ports ?? [];
}

function portChecks(port: ServicePort, patient: Patient): readonly Check[] {
  return [portNameCheck(port, patient), readinessCheck(port), ...policyChecks(port)];
}

/** Ports of Services and EndpointSlices meet by name and protocol. */
function portNameCheck(port: ServicePort, { slices, family }: Patient): Check {
  const question = `Do endpoints offer port ${port.portName || '(unnamed)'}/${port.protocol}?`;
  const offered = slices.filter((slice) => slice.family === family).flatMap(({ ports }) => ports);
  const found = offered.filter(({ name, protocol }) => name === port.portName && protocol === port.protocol);
  if (found.length > 0)
    return { question, result: 'good', answer: `at ${[...new Set(found.map((one) => one.port))].join(', ')}` };
  const others = [...new Set(offered.map(({ name, protocol }) => `${name || '(unnamed)'}/${protocol}`))];
  return {
    question,
    result: 'bad',
    answer: others.length > 0 ? `no, they offer ${others.join(', ')}` : 'they offer no port at all',
    advice: 'is targetPort the name or number of a port that the container has?',
  };
}

function readinessCheck({ backends, leftOut, hasEndpoints, displayName }: ServicePort): Check {
  const question = `Can an endpoint of ${displayName} be used?`;
  const reasons = [...Map.groupBy(leftOut, ({ reason }) => reason)].map(
    ([reason, all]) => `${all.length} ${reason.replace('-', ' ')}`,
  );
  const left = reasons.length > 0 ? `; left out: ${reasons.join(', ')}` : '';
  if (!hasEndpoints)
    return {
      question,
      result: 'bad',
      answer: `none${left}`,
      advice: 'are the Pods running, and do their readiness probes pass?',
    };
  const isLast = backends.reachable.length > 0 && backends.reachable.every(({ isTerminating }) => isTerminating);
  return {
    question,
    result: isLast ? 'note' : 'good',
    answer: `${backends.reachable.length}${isLast ? ', and all of them are terminating' : ''}${left}`,
  };
}

function policyChecks(port: ServicePort): readonly Check[] {
  return (['internal', 'external'] as const).flatMap((side): Check[] => {
    const { verdict } = port[side];
    if (verdict !== 'drop' || (side === 'external' && !port.isExternallyAccessible)) return [];
    return [
      {
        question: `Does ${side}TrafficPolicy: Local leave an endpoint on this node?`,
        result: side === 'internal' ? 'bad' : 'note',
        answer: `no; ${side === 'internal' ? 'the cluster IP' : 'traffic from outside'} is dropped here`,
        advice: `run a Pod on this node, or set spec.${side}TrafficPolicy to Cluster`,
      },
    ];
  });
}

/** A node that calls itself something else than its Pods' slices do finds no endpoint local, for ever. */
function nodeNameCheck({ nodeName, nodesInSlices }: Patient): Check {
  const question = 'Do EndpointSlices know this node?';
  if (nodesInSlices.has(nodeName)) return { question, result: 'good', answer: `as ${nodeName}` };
  const names = [...nodesInSlices].slice(0, 3).join(', ');
  return {
    question,
    result: 'note',
    answer: `none names ${nodeName || 'a node without a name'}${names ? `; they name ${names}` : ''}`,
    advice: 'if Pods run here, the proxy’s hostnameOverride differs from the Node’s name',
  };
}

function loadBalancerCheck({ service, family }: Patient): Check {
  const question = 'If it is a load balancer, does it have an address?';
  if (service.type !== 'LoadBalancer') return { question, result: 'good', answer: `it is of type ${service.type}` };
  const ips = service.loadBalancerIPs[family];
  if (ips.length > 0) return { question, result: 'good', answer: ips.join(', ') };
  return {
    question,
    result: 'note',
    answer: 'status.loadBalancer.ingress has no address for this node to take',
    advice: 'has the cloud’s controller, or the one that stands in for it, done its work?',
  };
}

function forwardingCheck(isForwarding: boolean): Check {
  const question = 'Does the kernel forward packets?';
  return isForwarding
    ? { question, result: 'good', answer: 'yes' }
    : { question, result: 'bad', answer: 'no', advice: 'sysctl -w net.ipv4.ip_forward=1' };
}

function rulesCheck({ mismatches, rules }: Patient): Check {
  const question =
    rules === undefined ? 'Would planned rules do as they should?' : `Do the rules ${rules} do as they should?`;
  const [first] = mismatches;
  if (!first) return { question, result: 'good', answer: 'yes, in every case' };
  return {
    question,
    result: 'bad',
    answer: `no, in ${mismatches.length} cases; ${first.client} → ${first.frontend} gets ${first.actual.join(', ')} instead of ${first.expected.join(', ')}`,
    advice: causeText(first.cause),
  };
}
