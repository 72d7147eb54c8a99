// A decoded document in, a complete configuration out. Zero, "" and null count as absent, except where the document can
// tell them apart (`??` instead of `||` below): a masquerade bit of 0 or a time-out of 0s is then a choice.
import { HOUR, MILLISECOND, MINUTE, SECOND } from '../lib/duration.ts';
import { familyOf, parseIp } from '../lib/ip.ts';
import { withPort } from './address.ts';
import {
  type ConntrackConfiguration,
  DEFAULT_HEALTHZ_PORT,
  DEFAULT_METRICS_PORT,
  type IpvsConfiguration,
  type LoggingConfiguration,
  type Settings,
  type StreamOptions,
} from './configuration.ts';
import type { Document } from './document.ts';

export function settingsOf(document: Document): Settings {
  const mode = document.mode ?? '';
  const bindAddress = document.bindAddress || '0.0.0.0';
  const { clientConnection: client = {}, detectLocal = {}, winkernel = {}, portolan = {} } = document;
  return {
    featureGates: document.featureGates ?? {},
    clientConnection: {
      kubeconfig: client.kubeconfig ?? '',
      acceptContentTypes: client.acceptContentTypes ?? '',
      contentType: client.contentType || 'application/vnd.kubernetes.protobuf',
      qps: client.qps || 5,
      burst: client.burst || 10,
    },
    logging: loggingOf(document),
    hostnameOverride: document.hostnameOverride ?? '',
    bindAddress,
    ...listenAddresses(document, bindAddress),
    bindAddressHardFail: document.bindAddressHardFail ?? false,
    enableProfiling: document.enableProfiling ?? false,
    showHiddenMetricsForVersion: document.showHiddenMetricsForVersion ?? '',
    mode,
    ...settingsOfMode(document, mode),
    iptables: {
      masqueradeBit: document.iptables?.masqueradeBit ?? 14,
      localhostNodePorts: document.iptables?.localhostNodePorts ?? true,
    },
    ipvs: ipvsOf(document),
    nftables: { masqueradeBit: document.nftables?.masqueradeBit ?? 14 },
    winkernel: {
      networkName: winkernel.networkName ?? '',
      sourceVip: winkernel.sourceVip ?? '',
      enableDSR: winkernel.enableDSR ?? false,
      rootHnsEndpointName: winkernel.rootHnsEndpointName ?? '',
      forwardHealthCheckVip: winkernel.forwardHealthCheckVip ?? false,
    },
    detectLocalMode: document.detectLocalMode ?? '',
    detectLocal: {
      clusterCIDRs: document.clusterCIDR ? document.clusterCIDR.split(',') : [],
      bridgeInterface: detectLocal.bridgeInterface ?? '',
      interfaceNamePrefix: detectLocal.interfaceNamePrefix ?? '',
    },
    nodePortAddresses: document.nodePortAddresses ?? [],
    oomScoreAdj: document.oomScoreAdj ?? -999,
    conntrack: conntrackOf(document),
    configSyncPeriod: document.configSyncPeriod || 15n * MINUTE,
    portRange: document.portRange ?? '',
    windowsRunAsService: document.windowsRunAsService ?? false,
    portolan: {
      serviceMetrics: portolan.serviceMetrics ?? true,
      selfCheckPeriod: portolan.selfCheckPeriod ?? 10n * MINUTE,
      consoleBindAddress: portolan.consoleBindAddress ?? '',
      consoleTokenFile: portolan.consoleTokenFile ?? '',
      udpIdleTimeout: portolan.udpIdleTimeout ?? 250n * MILLISECOND,
    },
  };
}

/** What is decided by the machine rather than by the document: the choices left blank. */
export function withPlatformDefaults(settings: Settings): Settings {
  const mode = settings.mode || 'iptables';
  const usesPrimary = mode === 'nftables' && settings.nodePortAddresses.length === 0;
  return {
    ...settings,
    mode,
    nodePortAddresses: usesPrimary ? ['primary'] : settings.nodePortAddresses,
    detectLocalMode: settings.detectLocalMode || 'ClusterCIDR',
  };
}

function loggingOf({ logging = {} }: Document): LoggingConfiguration {
  const stream = (options: Partial<StreamOptions> = {}): StreamOptions => ({
    splitStream: options.splitStream ?? false,
    infoBufferSize: options.infoBufferSize || '0',
  });
  return {
    format: logging.format || 'text',
    flushFrequency: logging.flushFrequency || 5n * SECOND,
    verbosity: logging.verbosity ?? 0,
    vmodule: (logging.vmodule ?? []).map(({ filePattern = '', verbosity = 0 }) => ({ filePattern, verbosity })),
    options: { text: stream(logging.options?.text), json: stream(logging.options?.json) },
  };
}

function listenAddresses(document: Document, bindAddress: string) {
  const ip = parseIp(bindAddress);
  const isIPv4 = ip !== undefined && familyOf(ip) === 'IPv4';
  const healthzHost = isIPv4 ? '0.0.0.0' : '::';
  const metricsHost = isIPv4 ? '127.0.0.1' : '::1';
  return {
    healthzBindAddress: withPort(document.healthzBindAddress || healthzHost, DEFAULT_HEALTHZ_PORT),
    metricsBindAddress: withPort(document.metricsBindAddress || metricsHost, DEFAULT_METRICS_PORT),
  };
}

/** The document has these once per mode; ipvs shares masqueradeAll with iptables. */
function settingsOfMode({ iptables = {}, ipvs = {}, nftables = {} }: Document, mode: string) {
  const chosen = mode === 'nftables' ? nftables : iptables;
  const periods = mode === 'ipvs' ? ipvs : chosen;
  return {
    syncPeriod: periods.syncPeriod || 30n * SECOND,
    minSyncPeriod: periods.minSyncPeriod || (mode === 'ipvs' ? 0n : SECOND),
    masqueradeAll: chosen.masqueradeAll ?? false,
  };
}

function ipvsOf({ ipvs = {} }: Document): IpvsConfiguration {
  return {
    scheduler: ipvs.scheduler ?? '',
    excludeCIDRs: ipvs.excludeCIDRs ?? [],
    strictARP: ipvs.strictARP ?? false,
    tcpTimeout: ipvs.tcpTimeout ?? 0n,
    tcpFinTimeout: ipvs.tcpFinTimeout ?? 0n,
    udpTimeout: ipvs.udpTimeout ?? 0n,
  };
}

function conntrackOf({ conntrack = {} }: Document): ConntrackConfiguration {
  return {
    maxPerCore: conntrack.maxPerCore ?? 32768,
    min: conntrack.min ?? 131072,
    tcpEstablishedTimeout: conntrack.tcpEstablishedTimeout ?? 24n * HOUR,
    tcpCloseWaitTimeout: conntrack.tcpCloseWaitTimeout ?? HOUR,
    tcpBeLiberal: conntrack.tcpBeLiberal ?? false,
    udpTimeout: conntrack.udpTimeout ?? 0n,
    udpStreamTimeout: conntrack.udpStreamTimeout ?? 0n,
  };
}
