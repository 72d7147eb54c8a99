// The configuration the agent runs with: complete, every default filled in. Field names are those of the configuration
// file, except that what the file keeps per mode (sync periods, masqueradeAll) is here once, for the mode that runs.
import type { Duration } from '../lib/duration.ts';

/** A configuration whose choices have been checked. */
export interface ProxyConfiguration extends Settings {
  readonly mode: ProxyMode;
  readonly detectLocalMode: DetectLocalMode;
  readonly logging: LoggingConfiguration & { readonly format: 'text' | 'json' };
}

export type ProxyMode = 'iptables' | 'ipvs' | 'nftables' | 'userspace';

export type DetectLocalMode = 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix';

/** A complete configuration that may still hold nonsense; validate.ts says which. */
export interface Settings {
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly clientConnection: ClientConnection;
  readonly logging: LoggingConfiguration;
  /** '': the name the operating system gives. */
  readonly hostnameOverride: string;
  readonly bindAddress: string;
  /** ip:port; '' : no health server. */
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
  readonly bindAddressHardFail: boolean;
  readonly enableProfiling: boolean;
  readonly showHiddenMetricsForVersion: string;
  readonly mode: string;
  readonly syncPeriod: Duration;
  readonly minSyncPeriod: Duration;
  readonly masqueradeAll: boolean;
  readonly iptables: { readonly masqueradeBit: number; readonly localhostNodePorts: boolean };
  readonly ipvs: IpvsConfiguration;
  readonly nftables: { readonly masqueradeBit: number };
  readonly winkernel: WinkernelConfiguration;
  readonly detectLocalMode: string;
  readonly detectLocal: DetectLocal;
  /** CIDRs, or the single word `primary`. */
  readonly nodePortAddresses: readonly string[];
  readonly oomScoreAdj: number;
  readonly conntrack: ConntrackConfiguration;
  readonly configSyncPeriod: Duration;
  /** Ports that relays may listen on, in userspace mode: `N`, `A-B` or `A+n`; '': any. */
  readonly portRange: string;
  readonly windowsRunAsService: boolean;
  readonly portolan: PortolanConfiguration;
}

export interface ClientConnection {
  readonly kubeconfig: string;
  readonly acceptContentTypes: string;
  readonly contentType: string;
  /** Negative: no limit. */
  readonly qps: number;
  readonly burst: number;
}

export interface LoggingConfiguration {
  readonly format: string;
  readonly flushFrequency: Duration;
  readonly verbosity: number;
  readonly vmodule: readonly VModule[];
  readonly options: { readonly text: StreamOptions; readonly json: StreamOptions };
}

export interface VModule {
  readonly filePattern: string;
  readonly verbosity: number;
}

export interface StreamOptions {
  readonly splitStream: boolean;
  /** A quantity such as `64Ki`. */
  readonly infoBufferSize: string;
}

export interface IpvsConfiguration {
  /** '': rr. */
  readonly scheduler: string;
  readonly excludeCIDRs: readonly string[];
  readonly strictARP: boolean;
  /** Zero keeps the kernel's value; so do the next two. */
  readonly tcpTimeout: Duration;
  readonly tcpFinTimeout: Duration;
  readonly udpTimeout: Duration;
}

/** Read and written back, without effect on Linux. */
export interface WinkernelConfiguration {
  readonly networkName: string;
  readonly sourceVip: string;
  readonly enableDSR: boolean;
  readonly rootHnsEndpointName: string;
  readonly forwardHealthCheckVip: boolean;
}

/** What tells traffic of this node's pods from other traffic. */
export interface DetectLocal {
  readonly clusterCIDRs: readonly string[];
  readonly bridgeInterface: string;
  readonly interfaceNamePrefix: string;
}

export interface ConntrackConfiguration {
  /** 0: the table's size is left alone. */
  readonly maxPerCore: number;
  readonly min: number;
  /** Zero leaves the kernel's value; so do the other time-outs. */
  readonly tcpEstablishedTimeout: Duration;
  readonly tcpCloseWaitTimeout: Duration;
  readonly tcpBeLiberal: boolean;
  readonly udpTimeout: Duration;
  readonly udpStreamTimeout: Duration;
}

/** Settings that upstream does not have. */
export interface PortolanConfiguration {
  /** Count connections per Service on /metrics, in all modes but iptables. */
  readonly serviceMetrics: boolean;
  /** How often the agent checks by itself that rules do what objects mean; 0: never. */
  readonly selfCheckPeriod: Duration;
  /** ip:port of the web console; '': none. */
  readonly consoleBindAddress: string;
  /** File with the token that console users must show; '': none is asked for. */
  readonly consoleTokenFile: string;
  /** How long a UDP client of a relay may be quiet before it is forgotten, in userspace mode. */
  readonly udpIdleTimeout: Duration;
}

export const DEFAULT_HEALTHZ_PORT = 10256;
export const DEFAULT_METRICS_PORT = 10249;
export const DEFAULT_CONSOLE_PORT = 10253;

/** The feature gate that admits mode `userspace`, which upstream no longer has. */
export const USERSPACE_GATE = 'PortolanUserspaceMode';
