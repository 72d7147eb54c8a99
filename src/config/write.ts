// A configuration in, the document that would produce it out: for --write-config-to and /configz. Of the settings that the
// document keeps per mode, only the running mode's are filled in.
import { isDeepStrictEqual } from 'node:util';
import { formatDuration } from '../lib/duration.ts';
import type { LoggingConfiguration, Settings, StreamOptions } from './configuration.ts';
import { settingsOf } from './defaults.ts';
import { API_VERSION, KIND } from './document.ts';
import { printYaml, type YamlMap, type YamlValue } from './yaml-print.ts';

/** The document as YAML with sorted keys. */
export function configurationYaml(settings: Settings): string {
  return printYaml(documentOf(settings));
}

/** The document as plain data, printable as JSON. */
export function documentOf(settings: Settings): YamlMap {
  const { clientConnection, conntrack, detectLocal, portolan } = settings;
  const ours = {
    ...portolan,
    selfCheckPeriod: formatDuration(portolan.selfCheckPeriod),
    udpIdleTimeout: formatDuration(portolan.udpIdleTimeout),
  };
  const usesPortolan = !isDeepStrictEqual(portolan, settingsOf({}).portolan); // a file that upstream reads says nothing of us
  return {
    kind: KIND,
    apiVersion: API_VERSION,
    ...(Object.keys(settings.featureGates).length > 0 && { featureGates: settings.featureGates }),
    clientConnection: { ...clientConnection, qps: shortestFloat32(clientConnection.qps) },
    logging: loggingDocument(settings.logging),
    hostnameOverride: settings.hostnameOverride,
    bindAddress: settings.bindAddress,
    healthzBindAddress: settings.healthzBindAddress,
    metricsBindAddress: settings.metricsBindAddress,
    bindAddressHardFail: settings.bindAddressHardFail,
    enableProfiling: settings.enableProfiling,
    showHiddenMetricsForVersion: settings.showHiddenMetricsForVersion,
    mode: settings.mode,
    ...modeSections(settings),
    winkernel: { ...settings.winkernel },
    detectLocalMode: settings.detectLocalMode,
    detectLocal: {
      bridgeInterface: detectLocal.bridgeInterface,
      interfaceNamePrefix: detectLocal.interfaceNamePrefix,
    },
    clusterCIDR: detectLocal.clusterCIDRs.join(','),
    nodePortAddresses: listOrNull(settings.nodePortAddresses),
    oomScoreAdj: settings.oomScoreAdj,
    conntrack: {
      maxPerCore: conntrack.maxPerCore,
      min: conntrack.min,
      tcpEstablishedTimeout: formatDuration(conntrack.tcpEstablishedTimeout),
      tcpCloseWaitTimeout: formatDuration(conntrack.tcpCloseWaitTimeout),
      tcpBeLiberal: conntrack.tcpBeLiberal,
      udpTimeout: formatDuration(conntrack.udpTimeout),
      udpStreamTimeout: formatDuration(conntrack.udpStreamTimeout),
    },
    configSyncPeriod: formatDuration(settings.configSyncPeriod),
    portRange: settings.portRange,
    ...(settings.windowsRunAsService && { windowsRunAsService: true }),
    ...(usesPortolan && { portolan: ours }),
  };
}

function modeSections({ mode, iptables, ipvs, nftables, ...settings }: Settings): YamlMap {
  const running = mode === 'ipvs' || mode === 'nftables' ? mode : 'iptables';
  const periodsFor = (section: string) => ({
    syncPeriod: formatDuration(section === running ? settings.syncPeriod : 0n),
    minSyncPeriod: formatDuration(section === running ? settings.minSyncPeriod : 0n),
  });
  const { masqueradeAll } = settings;
  return {
    iptables: {
      masqueradeBit: iptables.masqueradeBit,
      masqueradeAll: running === 'nftables' ? false : masqueradeAll,
      localhostNodePorts: iptables.localhostNodePorts,
      ...periodsFor('iptables'),
    },
    ipvs: {
      ...periodsFor('ipvs'),
      scheduler: ipvs.scheduler,
      excludeCIDRs: listOrNull(ipvs.excludeCIDRs),
      strictARP: ipvs.strictARP,
      tcpTimeout: formatDuration(ipvs.tcpTimeout),
      tcpFinTimeout: formatDuration(ipvs.tcpFinTimeout),
      udpTimeout: formatDuration(ipvs.udpTimeout),
    },
    nftables: {
      masqueradeBit: nftables.masqueradeBit,
      masqueradeAll: running === 'nftables' ? masqueradeAll : false,
      ...periodsFor('nftables'),
    },
  };
}

function loggingDocument(logging: LoggingConfiguration): YamlMap {
  const stream = ({ splitStream, infoBufferSize }: StreamOptions): YamlMap => ({
    ...(splitStream && { splitStream }),
    infoBufferSize,
  });
  return {
    format: logging.format,
    flushFrequency: formatDuration(logging.flushFrequency),
    verbosity: logging.verbosity,
    ...(logging.vmodule.length > 0 && { vmodule: logging.vmodule.map((module) => ({ ...module })) }),
    options: { text: stream(logging.options.text), json: stream(logging.options.json) },
  };
}

function listOrNull(list: readonly string[]): YamlValue {
  return list.length > 0 ? list : null;
}

/** 0.1, where the 32-bit float next to it would print as 0.10000000149011612. */
function shortestFloat32(value: number): number {
  for (let digits = 1; digits < 10; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}
