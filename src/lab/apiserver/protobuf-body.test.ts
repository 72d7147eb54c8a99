import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtobufBody } from './protobuf-body.ts';

test('a Service in protobuf form is the same Service in JSON', () => {
  const metadata = message(1, text(1, 'web'), text(2, ''), message(8), message(11, text(1, 'app'), text(2, 'web')));
  const port = message(1, text(1, 'http'), number(3, 80), message(4, number(1, 1), text(3, 'web')), number(5, 0));
  const spec = message(2, port, message(2, text(1, 'app'), text(2, 'web')), text(4, 'ClusterIP'), number(20, 0));
  assert.deepEqual(decodeProtobufBody(envelope('v1', 'Service', [...metadata, ...spec, ...message(3, message(1))])), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: {
      ports: [{ name: 'http', port: 80, targetPort: 'web' }],
      selector: { app: 'web' },
      type: 'ClusterIP',
      allocateLoadBalancerNodePorts: false,
    },
  });
});

test('a grace period of zero is meant', () => {
  const body = envelope('v1', 'DeleteOptions', [...number(1, 0), ...text(4, 'Background')]);
  const decoded = decodeProtobufBody(body);
  assert.equal(decoded.gracePeriodSeconds, 0);
  assert.equal(decoded.propagationPolicy, 'Background');
});

test('what cannot be read is refused with a reason', () => {
  assert.throws(() => decodeProtobufBody(Buffer.from('{}')), /not in the protobuf form/);
  assert.throws(() => decodeProtobufBody(envelope('v1', 'Secret', [])), /reads a Secret as JSON or YAML/);
  const cut = envelope('v1', 'Service', message(1, text(1, 'web'))).subarray(0, -2);
  assert.throws(() => decodeProtobufBody(cut), /ends in the middle/);
});

type Bytes = readonly number[];

function envelope(apiVersion: string, kind: string, raw: Bytes): Buffer {
  const unknown = [...message(1, text(1, apiVersion), text(2, kind)), ...message(2, raw)];
  return Buffer.from([...Buffer.from('k8s\0'), ...unknown]);
}

function message(field: number, ...parts: readonly Bytes[]): Bytes {
  const body = parts.flat();
  return [...varint(field * 8 + 2), ...varint(body.length), ...body];
}

function text(field: number, value: string): Bytes {
  return message(field, [...Buffer.from(value)]);
}

function number(field: number, value: number): Bytes {
  return [...varint(field * 8), ...varint(value)];
}

function varint(value: number): Bytes {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)];
}
