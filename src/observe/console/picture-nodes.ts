// The ends of every picture, whatever the mode: the addresses and the endpoints.
import type { Backend, Frontend, LeftOut, LeftOutReason, ServicePort } from '../../model/model.ts';
import { frontendKey, frontendText } from './frontend-key.ts';
import type { LeftOutShape, PictureNode } from './shapes.ts';

export function frontendNode(port: ServicePort, frontend: Frontend): PictureNode & { kind: 'frontend' } {
  return {
    kind: 'frontend',
    id: frontendKey(port, frontend),
    address: frontendText(frontend),
    frontend: frontend.kind,
  };
}

export function endpointNode(backend: Backend, chain: string | undefined): PictureNode & { kind: 'endpoint' } {
  const { address, zone, target, slice, isLocal, isTerminating } = backend;
  return {
    kind: 'endpoint',
    id: address,
    address,
    node: backend.nodeName,
    zone,
    target,
    slice,
    isLocal,
    isTerminating,
    chain,
  };
}

const REASONS: Readonly<Record<LeftOutReason, string>> = {
  'not-ready': 'not ready',
  terminating: 'terminating, and others are ready',
  'other-zone': 'in another zone: hints keep traffic in this one',
  'other-node': 'on another node: hints keep traffic on this one',
  'not-local': 'on another node: the policy asks for local endpoints',
};

export function leftOutShape({ address, nodeName, target, slice, reason }: LeftOut): LeftOutShape {
  return { address, node: nodeName, target, slice, reason, text: REASONS[reason] };
}
