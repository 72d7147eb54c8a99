// Every command-line flag: its type, its default, and what it is for. flags.ts parses by this table, usage.ts prints it.
import { type Duration, HOUR, MILLISECOND, MINUTE, SECOND } from '../lib/duration.ts';
import type { VModule } from './configuration.ts';

interface Values {
  string: string;
  bool: boolean;
  int32: number;
  float32: number;
  duration: Duration;
  strings: readonly string[];
  ip: string;
  'ip or ip:port': string;
  gates: Readonly<Record<string, boolean>>;
  level: number;
  vmodule: readonly VModule[];
  quantity: string;
  version: string;
}

export type FlagType = keyof Values;

export type FlagSpec = {
  readonly [T in FlagType]: {
    readonly type: T;
    readonly default: Values[T];
    readonly help: string;
    readonly shorthand?: string;
    /** What to use instead; such a flag is hidden from the help. */
    readonly deprecated?: string;
    /** True for flags that upstream does not have. */
    readonly isOurs?: true;
  };
}[FlagType];

const flag = <const S extends FlagSpec>(spec: S): S => spec;
const string = (help: string, value = '') => flag({ type: 'string', default: value, help });
const bool = (help: string, value = false) => flag({ type: 'bool', default: value, help });
const int32 = (value: number, help: string) => flag({ type: 'int32', default: value, help });
const duration = (value: Duration, help: string) => flag({ type: 'duration', default: value, help });
const strings = (help: string) => flag({ type: 'strings', default: [], help });
const quantity = (help: string) => flag({ type: 'quantity', default: '0', help });

const insteadOf = (name: string) =>
  `This flag is deprecated and will be removed in a future release. Please use --${name} instead.`;

export const FLAGS = {
  'bind-address': flag({
    type: 'ip',
    default: '0.0.0.0',
    help: "Used as this node's primary IP in place of the one its Node object tells. Only relays (userspace) listen there.",
  }),
  'bind-address-hard-fail': bool('End the process if the health or the metrics port cannot be bound.'),
  'boot-id-file': string('Accepted and without effect.', '/proc/sys/kernel/random/boot_id'),
  cleanup: bool('Remove the rules of every proxy mode from this machine, and exit.'),
  'cluster-cidr': string('Networks of the pods, one for each IP family, separated by a comma.'),
  config: string(
    'The configuration file. Its settings replace all flags except those for logging, --hostname-override, --master, and those that say what to do.',
  ),
  'config-sync-period': duration(15n * MINUTE, 'How often cached objects are looked at again.'),
  'conntrack-max-per-core': int32(32768, 'Connections to track for each CPU core (0: leave the limit as it is).'),
  'conntrack-min': int32(131072, 'Connections to track at least, whatever --conntrack-max-per-core gives.'),
  'conntrack-tcp-be-liberal': bool('Accept TCP packets outside the window as part of their connection.'),
  'conntrack-tcp-timeout-close-wait': duration(HOUR, 'How long a TCP connection in CLOSE_WAIT is tracked.'),
  'conntrack-tcp-timeout-established': duration(24n * HOUR, 'How long an idle TCP connection is tracked (0: as is).'),
  'conntrack-udp-timeout': duration(0n, 'How long an unanswered UDP flow is tracked (0: as is).'),
  'conntrack-udp-timeout-stream': duration(0n, 'How long an answered UDP flow is tracked (0: as is).'),
  'detect-local-mode': string(
    'How traffic of local pods is recognised: ClusterCIDR, NodeCIDR, BridgeInterface or InterfaceNamePrefix. Blank: ClusterCIDR.',
  ),
  'feature-gates': flag({ type: 'gates', default: {}, help: 'Pairs name=true or name=false, separated by commas.' }),
  'healthz-bind-address': flag({
    type: 'ip or ip:port',
    default: '0.0.0.0:10256',
    help: 'Where the health server listens.',
  }),
  'healthz-port': flag({
    type: 'int32',
    default: 10256,
    help: 'Port of the health server (0: no health server).',
    deprecated: insteadOf('healthz-bind-address'),
  }),
  'hostname-override': string("This node's name, where it is not the host name."),
  'init-only': bool('Do what needs full privileges (kernel settings), and exit.'),
  'iptables-localhost-nodeports': bool('Let node ports be reached through loopback addresses (iptables, IPv4).', true),
  'iptables-masquerade-bit': int32(14, 'The bit of the packet mark that asks for masquerading (iptables, ipvs).'),
  'iptables-min-sync-period': duration(SECOND, 'Least time between two syncs (iptables, nftables).'),
  'iptables-sync-period': duration(30n * SECOND, 'How soon a failed sync is tried again (iptables, nftables).'),
  'ipvs-exclude-cidrs': strings('Networks whose virtual servers are left alone (ipvs).'),
  'ipvs-min-sync-period': duration(SECOND, 'Least time between two syncs (ipvs).'),
  'ipvs-scheduler': string('The scheduler for virtual servers (ipvs). Blank: rr.'),
  'ipvs-strict-arp': bool('Do not answer ARP for service addresses (ipvs).'),
  'ipvs-sync-period': duration(30n * SECOND, 'Time between two syncs at most (ipvs).'),
  'ipvs-tcp-timeout': duration(0n, 'Time-out of idle TCP connections (ipvs; 0: as is).'),
  'ipvs-tcpfin-timeout': duration(0n, 'Time-out of TCP connections after a FIN (ipvs; 0: as is).'),
  'ipvs-udp-timeout': duration(0n, 'Time-out of UDP flows (ipvs; 0: as is).'),
  'kube-api-burst': int32(10, 'Requests to the API server that may be sent at once.'),
  'kube-api-content-type': string('Content type asked for.', 'application/vnd.kubernetes.protobuf'),
  'kube-api-qps': flag({ type: 'float32', default: 5, help: 'Requests to the API server in a second, on average.' }),
  kubeconfig: string('File that says how to reach the API server.'),
  'log-flush-frequency': duration(5n * SECOND, 'Accepted; every line is written at once.'),
  'log-json-info-buffer-size': quantity('Accepted; lines are not buffered. Needs gate LoggingAlphaOptions.'),
  'log-json-split-stream': bool('Write info lines to standard output (json). Needs gate LoggingAlphaOptions.'),
  'log-text-info-buffer-size': quantity('Accepted; lines are not buffered. Needs gate LoggingAlphaOptions.'),
  'log-text-split-stream': bool('Write info lines to standard output (text). Needs gate LoggingAlphaOptions.'),
  'logging-format': string('text or json.', 'text'),
  'machine-id-file': string('Accepted and without effect.', '/etc/machine-id,/var/lib/dbus/machine-id'),
  'masquerade-all': bool('Masquerade all traffic to service addresses.'),
  master: string('URL of the API server, in place of the one in the kubeconfig.'),
  'metrics-bind-address': flag({
    type: 'ip or ip:port',
    default: '127.0.0.1:10249',
    help: 'Where the metrics server listens.',
  }),
  'metrics-port': flag({
    type: 'int32',
    default: 10249,
    help: 'Port of the metrics server.',
    deprecated: insteadOf('metrics-bind-address'),
  }),
  'nodeport-addresses': strings(
    "Networks whose local addresses accept node ports, or the word primary for this node's own IPs. None: all addresses.",
  ),
  'oom-score-adj': int32(-999, "The process's oom_score_adj, from -1000 to 1000."),
  'pod-bridge-interface': string('The bridge of local pods, for --detect-local-mode=BridgeInterface.'),
  'pod-interface-name-prefix': string(
    'What the interface names of local pods begin with, for --detect-local-mode=InterfaceNamePrefix.',
  ),
  profiling: bool('Serve /debug pages on the metrics server.'),
  'proxy-mode': string('iptables, ipvs or nftables. Blank: iptables.'),
  'show-hidden-metrics-for-version': string('Show metrics hidden since this version: 1.35 or nothing.'),
  v: flag({ type: 'level', default: 0, help: 'How much is logged, from 0 up.', shorthand: 'v' }),
  version: flag({
    type: 'version',
    default: 'false',
    help: 'Print the version and exit; raw prints all of it; vX.Y.Z sets the version that is reported.',
  }),
  vmodule: flag({
    type: 'vmodule',
    default: [],
    help: 'Pairs pattern=N, separated by commas: how much source files of these names log (text only).',
  }),
  'write-config-to': string('Write the effective configuration to this file, and exit.'),

  'console-bind-address': flag({
    type: 'string',
    default: '',
    help: 'Where the web console listens, ip or ip:port (port 10253 unless given). Blank: no console.',
    isOurs: true,
  }),
  'console-token-file': flag({
    type: 'string',
    default: '',
    help: 'File with the token that users of the console must show.',
    isOurs: true,
  }),
  'proxy-port-range': flag({
    type: 'string',
    default: '',
    help: 'Ports that relays listen on: N, A-B or A+n. Blank: any (userspace).',
    isOurs: true,
  }),
  'self-check-period': flag({
    type: 'duration',
    default: 10n * MINUTE,
    help: 'How often the agent checks that its rules do what the objects mean. 0: never.',
    isOurs: true,
  }),
  'service-metrics': flag({
    type: 'bool',
    default: true,
    help: 'Count new connections for each Service on /metrics (all modes but iptables).',
    isOurs: true,
  }),
  'udp-timeout': flag({
    type: 'duration',
    default: 250n * MILLISECOND,
    help: 'How long a UDP client may be quiet before its relay forgets it (userspace).',
    isOurs: true,
  }),
} as const satisfies Readonly<Record<string, FlagSpec>>;

export type FlagName = keyof typeof FLAGS;

export type FlagValues = { readonly [N in FlagName]: Values[(typeof FLAGS)[N]['type']] };

/** Other names for flags; ours. */
export const ALIASES: Readonly<Record<string, FlagName>> = { mode: 'proxy-mode' };

export const FLAG_NAMES: readonly FlagName[] = (Object.keys(FLAGS) as FlagName[]).sort();

export function specOf(name: FlagName): FlagSpec {
  return FLAGS[name];
}
