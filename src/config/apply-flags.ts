// Flag values onto a configuration. Without a file the defaults are the base and every flag counts; with a file only the
// flags that are about this start, and the ones for logging, do.

import { withPort } from './address.ts';
import { DEFAULT_CONSOLE_PORT, type LoggingConfiguration, type Settings } from './configuration.ts';
import type { FlagName, FlagSpec, FlagValues } from './flag-table.ts';
import { specOf } from './flag-table.ts';

export interface GivenFlags {
  readonly values: FlagValues;
  readonly given: ReadonlySet<FlagName>;
}

export function withAllFlags(base: Settings, { values, given }: GivenFlags): Settings {
  return {
    ...base,
    featureGates: values['feature-gates'],
    clientConnection: {
      ...base.clientConnection,
      kubeconfig: values.kubeconfig,
      contentType: values['kube-api-content-type'],
      qps: values['kube-api-qps'],
      burst: values['kube-api-burst'],
    },
    bindAddress: values['bind-address'],
    ...listenAddresses(values),
    bindAddressHardFail: values['bind-address-hard-fail'],
    enableProfiling: values.profiling,
    showHiddenMetricsForVersion: values['show-hidden-metrics-for-version'],
    mode: values['proxy-mode'],
    ...periods(base, { values, given }),
    masqueradeAll: values['masquerade-all'],
    iptables: {
      masqueradeBit: values['iptables-masquerade-bit'],
      localhostNodePorts: values['iptables-localhost-nodeports'],
    },
    ipvs: {
      scheduler: values['ipvs-scheduler'],
      excludeCIDRs: values['ipvs-exclude-cidrs'],
      strictARP: values['ipvs-strict-arp'],
      tcpTimeout: values['ipvs-tcp-timeout'],
      tcpFinTimeout: values['ipvs-tcpfin-timeout'],
      udpTimeout: values['ipvs-udp-timeout'],
    },
    detectLocalMode: values['detect-local-mode'],
    detectLocal: {
      // Given but empty is one empty network, which validation refuses.
      clusterCIDRs: given.has('cluster-cidr') ? values['cluster-cidr'].split(',') : [],
      bridgeInterface: values['pod-bridge-interface'],
      interfaceNamePrefix: values['pod-interface-name-prefix'],
    },
    nodePortAddresses: values['nodeport-addresses'],
    oomScoreAdj: values['oom-score-adj'],
    conntrack: {
      maxPerCore: values['conntrack-max-per-core'],
      min: values['conntrack-min'],
      tcpEstablishedTimeout: values['conntrack-tcp-timeout-established'],
      tcpCloseWaitTimeout: values['conntrack-tcp-timeout-close-wait'],
      tcpBeLiberal: values['conntrack-tcp-be-liberal'],
      udpTimeout: values['conntrack-udp-timeout'],
      udpStreamTimeout: values['conntrack-udp-timeout-stream'],
    },
    configSyncPeriod: values['config-sync-period'],
  };
}

/** Logging settings, each replaced only if its flag was given. */
export function withLoggingFlags(base: LoggingConfiguration, { values, given }: GivenFlags): LoggingConfiguration {
  const pick = <N extends FlagName, T>(name: N, otherwise: T) => (given.has(name) ? values[name] : otherwise);
  return {
    format: pick('logging-format', base.format),
    flushFrequency: pick('log-flush-frequency', base.flushFrequency),
    verbosity: pick('v', base.verbosity),
    vmodule: [...values.vmodule, ...base.vmodule], // the first match decides, so flags come first
    options: {
      text: {
        splitStream: pick('log-text-split-stream', base.options.text.splitStream),
        infoBufferSize: pick('log-text-info-buffer-size', base.options.text.infoBufferSize),
      },
      json: {
        splitStream: pick('log-json-split-stream', base.options.json.splitStream),
        infoBufferSize: pick('log-json-info-buffer-size', base.options.json.infoBufferSize),
      },
    },
  };
}

/** Our own flags work with a file too: it may be one that upstream reads as well. */
export function withPortolanFlags(base: Settings, { values, given }: GivenFlags): Settings {
  const pick = <N extends FlagName, T>(name: N, otherwise: T) => (given.has(name) ? values[name] : otherwise);
  const consoleBindAddress = pick('console-bind-address', base.portolan.consoleBindAddress);
  return {
    ...base,
    portRange: pick('proxy-port-range', base.portRange),
    portolan: {
      serviceMetrics: pick('service-metrics', base.portolan.serviceMetrics),
      selfCheckPeriod: pick('self-check-period', base.portolan.selfCheckPeriod),
      consoleBindAddress: withPort(consoleBindAddress, DEFAULT_CONSOLE_PORT),
      consoleTokenFile: pick('console-token-file', base.portolan.consoleTokenFile),
      udpIdleTimeout: pick('udp-timeout', base.portolan.udpIdleTimeout),
    },
  };
}

/** The flags that were given although the file decides: worth a word, since nothing else shows they do nothing. */
export function flagsOverruledByFile({ given }: GivenFlags): readonly FlagName[] {
  return [...given].filter((name) => !ACTING_WITH_FILE.has(name) && !(specOf(name) as FlagSpec).isOurs).sort();
}

const ACTING_WITH_FILE: ReadonlySet<FlagName> = new Set([
  'config',
  'write-config-to',
  'cleanup',
  'init-only',
  'version',
  'master',
  'hostname-override',
  'v',
  'vmodule',
  'logging-format',
  'log-flush-frequency',
  'log-text-split-stream',
  'log-json-split-stream',
  'log-text-info-buffer-size',
  'log-json-info-buffer-size',
]);

/** The deprecated port flags fill in a port where the address has none, and 0 takes the address away. They are not looked
 *  at when the configuration is only written. */
function listenAddresses(values: FlagValues) {
  const merged = (address: string, port: number) => {
    if (values['write-config-to'] !== '') return address;
    return port === 0 ? '' : withPort(address, port);
  };
  return {
    healthzBindAddress: merged(values['healthz-bind-address'], values['healthz-port']),
    metricsBindAddress: merged(values['metrics-bind-address'], values['metrics-port']),
  };
}

/** The base has the periods of iptables mode, so ipvs by flags starts from 1s where ipvs in a file starts from 0s. */
function periods(base: Settings, { values, given }: GivenFlags) {
  const section = values['proxy-mode'] === 'ipvs' ? 'ipvs' : 'iptables';
  const sync = `${section}-sync-period` as const;
  const minSync = `${section}-min-sync-period` as const;
  return {
    syncPeriod: given.has(sync) ? values[sync] : base.syncPeriod,
    minSyncPeriod: given.has(minSync) ? values[minSync] : base.minSyncPeriod,
  };
}
