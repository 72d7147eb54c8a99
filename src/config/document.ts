// The shape of a KubeProxyConfiguration document, v1alpha1: one table of fields and their types, from which both the
// decoder and the TypeScript type follow. Every field may be absent; null and absent are the same.
import type { Duration } from '../lib/duration.ts';

export const API_VERSION = 'kubeproxy.config.k8s.io/v1alpha1';
export const KIND = 'KubeProxyConfiguration';

const STREAM_OPTIONS = { splitStream: 'bool', infoBufferSize: 'quantity' } as const;

export const DOCUMENT_FIELDS = {
  apiVersion: 'string',
  kind: 'string',
  featureGates: 'map of bool',
  clientConnection: {
    kubeconfig: 'string',
    acceptContentTypes: 'string',
    contentType: 'string',
    qps: 'float32',
    burst: 'int32',
  },
  logging: {
    format: 'string',
    flushFrequency: 'duration or integer',
    verbosity: 'uint32',
    vmodule: 'list of vmodule',
    options: { text: STREAM_OPTIONS, json: STREAM_OPTIONS },
  },
  hostnameOverride: 'string',
  bindAddress: 'string',
  healthzBindAddress: 'string',
  metricsBindAddress: 'string',
  bindAddressHardFail: 'bool',
  enableProfiling: 'bool',
  showHiddenMetricsForVersion: 'string',
  mode: 'string',
  iptables: {
    masqueradeBit: 'int32',
    masqueradeAll: 'bool',
    localhostNodePorts: 'bool',
    syncPeriod: 'duration',
    minSyncPeriod: 'duration',
  },
  ipvs: {
    syncPeriod: 'duration',
    minSyncPeriod: 'duration',
    scheduler: 'string',
    excludeCIDRs: 'list of string',
    strictARP: 'bool',
    tcpTimeout: 'duration',
    tcpFinTimeout: 'duration',
    udpTimeout: 'duration',
  },
  nftables: { masqueradeBit: 'int32', masqueradeAll: 'bool', syncPeriod: 'duration', minSyncPeriod: 'duration' },
  winkernel: {
    networkName: 'string',
    sourceVip: 'string',
    enableDSR: 'bool',
    rootHnsEndpointName: 'string',
    forwardHealthCheckVip: 'bool',
  },
  detectLocalMode: 'string',
  detectLocal: { bridgeInterface: 'string', interfaceNamePrefix: 'string' },
  clusterCIDR: 'string',
  nodePortAddresses: 'list of string',
  oomScoreAdj: 'int32',
  conntrack: {
    maxPerCore: 'int32',
    min: 'int32',
    tcpEstablishedTimeout: 'duration',
    tcpCloseWaitTimeout: 'duration',
    tcpBeLiberal: 'bool',
    udpTimeout: 'duration',
    udpStreamTimeout: 'duration',
  },
  configSyncPeriod: 'duration',
  portRange: 'string',
  windowsRunAsService: 'bool',
  // Ours: upstream ignores it as an unknown field.
  portolan: {
    serviceMetrics: 'bool',
    selfCheckPeriod: 'duration',
    consoleBindAddress: 'string',
    consoleTokenFile: 'string',
    udpIdleTimeout: 'duration',
  },
} as const satisfies Fields;

export const VMODULE_FIELDS = { filePattern: 'string', verbosity: 'uint32' } as const satisfies Fields;

export type Document = Decoded<typeof DOCUMENT_FIELDS>;

export interface Fields {
  readonly [name: string]: FieldType | Fields;
}

interface Values {
  string: string;
  bool: boolean;
  int32: number;
  uint32: number;
  float32: number;
  duration: Duration;
  'duration or integer': Duration;
  quantity: string;
  'list of string': readonly string[];
  'map of bool': Readonly<Record<string, boolean>>;
  'list of vmodule': readonly Decoded<typeof VMODULE_FIELDS>[];
}

export type FieldType = keyof Values;

export type Decoded<F> = {
  readonly [K in keyof F]?: F[K] extends FieldType ? Values[F[K]] : Decoded<F[K]>;
};
