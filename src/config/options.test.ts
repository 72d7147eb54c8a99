import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { HOUR, SECOND } from '../lib/duration.ts';
import type { ProxyConfiguration } from './configuration.ts';
import { settingsOf, withPlatformDefaults } from './defaults.ts';
import { complete } from './options.ts';

const HEAD = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

function withFile(text: string, ...args: string[]) {
  return complete(['--config=/etc/proxy.yaml', ...args], (path) => {
    assert.equal(path, '/etc/proxy.yaml');
    return text;
  });
}

function withFlags(...args: string[]) {
  return complete(args, () => assert.fail('no file to read'));
}

function configuration(invocation: ReturnType<typeof complete>): ProxyConfiguration {
  assert.ok(
    'configuration' in invocation,
    JSON.stringify('error' in invocation ? invocation.error : invocation.action),
  );
  return invocation.configuration;
}

function error(invocation: ReturnType<typeof complete>): string {
  assert.equal(invocation.action, 'fail');
  assert.ok('error' in invocation);
  return invocation.error;
}

function notes(invocation: ReturnType<typeof complete>): string[] {
  assert.ok('start' in invocation);
  return invocation.start.notes.filter((note) => !note.message.startsWith('FLAG:')).map((note) => note.message);
}

test('help goes to standard output and beats everything but a broken command line', () => {
  for (const args of [['-h'], ['--help'], ['--help', 'argument']]) {
    const invocation = withFlags(...args);
    assert.equal(invocation.action, 'help');
    assert.ok('text' in invocation);
    assert.match(invocation.text, /--proxy-mode string/);
    assert.doesNotMatch(invocation.text, /healthz-port/);
  }
  assert.equal(withFlags('--help', '--nonsense').action, 'refuse');
});

test('a broken command line prints the usage and the reason', () => {
  const invocation = withFlags('--nonsense');
  assert.equal(invocation.action, 'refuse');
  assert.ok('text' in invocation);
  assert.match(invocation.text, /^[\s\S]*Usage:[\s\S]*\nError: unknown flag: --nonsense\n$/);
});

test('arguments that are no flags are refused, empty ones tolerated', () => {
  const text = 'Error: "kube-proxy" does not take any arguments, got ["foo"]\n';
  assert.deepEqual(withFlags('foo'), { action: 'refuse', text });
  const cleanupFalse = withFlags('--cleanup', 'false');
  assert.deepEqual(cleanupFalse, { action: 'refuse', text: text.replace('foo', 'false') });
  assert.equal(withFlags('').action, 'run');
});

test('the version is printed, and may be refined', () => {
  assert.deepEqual(withFlags('--version'), { action: 'version', text: 'Kubernetes v1.36.4\n' });
  const raw = withFlags('--version=raw');
  assert.ok(
    raw.action === 'version' && raw.text.startsWith('version.Info{Major:"1", Minor:"36", GitVersion:"v1.36.4"'),
  );
  const refined = withFlags('--version=v1.36.4-site.1');
  assert.ok('version' in refined && refined.version === 'v1.36.4-site.1');
  assert.equal(withFlags('--version=v1.35.0').action, 'refuse');
});

test('flags say what to do: write, then clean up, then initialise, then run', () => {
  assert.equal(withFlags().action, 'run');
  assert.equal(withFlags('--init-only').action, 'init-only');
  assert.equal(withFlags('--init-only', '--cleanup').action, 'cleanup');
  assert.equal(withFlags('--init-only', '--cleanup', '--write-config-to=/tmp/x').action, 'write-config');
  assert.equal(withFlags('--cleanup=false').action, 'run');
});

test('without flags or file everything has its default', () => {
  const invocation = withFlags();
  assert.deepEqual(configuration(invocation), withPlatformDefaults(settingsOf({})));
  assert.deepEqual(notes(invocation), ['Using iptables proxy']);
});

test("a kubeadm cluster's file means the defaults", () => {
  const text = readFileSync(new URL('testdata/kubeadm-config.conf', import.meta.url), 'utf8');
  const invocation = withFile(text, '--hostname-override=Node-1');
  const defaults = configuration(withFlags());
  assert.deepEqual(configuration(invocation), {
    ...defaults,
    hostnameOverride: 'node-1',
    clientConnection: { ...defaults.clientConnection, kubeconfig: '/var/lib/kube-proxy/kubeconfig.conf' },
    detectLocal: { ...defaults.detectLocal, clusterCIDRs: ['10.244.0.0/16'] },
  });
  assert.deepEqual(notes(invocation), ['Using iptables proxy']);
  assert.ok('configFile' in invocation && invocation.configFile?.text === text);
});

test('in an IPv6 kubeadm cluster health and metrics move to IPv6', () => {
  const { healthzBindAddress, metricsBindAddress } = configuration(withFile(`${HEAD}bindAddress: "::"\n`));
  assert.deepEqual([healthzBindAddress, metricsBindAddress], ['[::]:10256', '[::1]:10249']);
});

test('a bare IP in the file gets the port', () => {
  const text = `${HEAD}healthzBindAddress: 10.0.0.1\nmetricsBindAddress: fd00::1\n`;
  const { healthzBindAddress, metricsBindAddress } = configuration(withFile(text));
  assert.deepEqual([healthzBindAddress, metricsBindAddress], ['10.0.0.1:10256', '[fd00::1]:10249']);
});

test('bind-address as a flag moves nothing else', () => {
  const { bindAddress, healthzBindAddress } = configuration(withFlags('--bind-address=::'));
  assert.deepEqual([bindAddress, healthzBindAddress], ['::', '0.0.0.0:10256']);
});

test('the deprecated ports fill in what the address lacks, and zero turns health off', () => {
  const healthz = (...args: string[]) => configuration(withFlags(...args)).healthzBindAddress;
  assert.equal(healthz('--healthz-port=12000'), '0.0.0.0:10256');
  assert.equal(healthz('--healthz-bind-address=10.1.1.1', '--healthz-port=12000'), '10.1.1.1:12000');
  assert.equal(healthz('--healthz-bind-address=10.1.1.1'), '10.1.1.1:10256');
  assert.equal(healthz('--healthz-port=0'), '');
  const problem = 'KubeProxyConfiguration.MetricsBindAddress: Invalid value: "": must be IP:port';
  assert.equal(error(withFlags('--metrics-port=0')), `failed validate: ${problem}`);
  const used = withFlags('--healthz-port=0');
  assert.ok('start' in used);
  assert.deepEqual(used.start.warnings, [
    'Flag --healthz-port has been deprecated, This flag is deprecated and will be removed in a future release. Please use --healthz-bind-address instead.',
  ]);
});

test('the deprecated ports are not looked at when a configuration is written or read', () => {
  assert.match(
    error(withFlags('--write-config-to=/x', '--healthz-bind-address=10.1.1.1')),
    /HealthzBindAddress.*must be IP:port/,
  );
  assert.equal(configuration(withFile(HEAD, '--healthz-port=0')).healthzBindAddress, '0.0.0.0:10256');
});

test('an empty address flag changes nothing', () => {
  const { bindAddress, healthzBindAddress, metricsBindAddress } = configuration(
    withFlags(
      '--bind-address=',
      '--healthz-bind-address=',
      '--metrics-bind-address=',
      '--metrics-bind-address=127.0.0.2',
    ),
  );
  assert.deepEqual(
    [bindAddress, healthzBindAddress, metricsBindAddress],
    ['0.0.0.0', '0.0.0.0:10256', '127.0.0.2:10249'],
  );
});

test('with a file the flags for settings do nothing, and that is said', () => {
  const invocation = withFile(
    `${HEAD}mode: ipvs\n`,
    '--proxy-mode=nftables',
    '--kubeconfig=/x',
    '--master=https://a',
    '-v=4',
  );
  assert.equal(configuration(invocation).mode, 'ipvs');
  assert.equal(configuration(invocation).clientConnection.kubeconfig, '');
  assert.equal(configuration(invocation).logging.verbosity, 4);
  assert.ok('master' in invocation && invocation.master === 'https://a');
  assert.ok('start' in invocation);
  assert.equal(invocation.start.logSettings.verbosity, 4);
  const note = invocation.start.notes[0]!;
  assert.deepEqual(note.values, { flags: ['--kubeconfig', '--proxy-mode'], config: '/etc/proxy.yaml' });
});

test('logging flags replace the fields they name and put their patterns first', () => {
  const text = `${HEAD}logging: {verbosity: 2, flushFrequency: 7s, vmodule: [{filePattern: b, verbosity: 2}]}\n`;
  const { logging } = configuration(withFile(text, '--vmodule=a=1'));
  assert.equal(logging.verbosity, 2);
  assert.equal(logging.flushFrequency, 7n * SECOND);
  assert.deepEqual(
    logging.vmodule.map((module) => module.filePattern),
    ['a', 'b'],
  );
  assert.equal(configuration(withFile(text, '-v0')).logging.verbosity, 0);
});

test('the sync periods are those of the mode; ipvs by flag starts from 1s, in a file from 0s', () => {
  const periods = ({ syncPeriod, minSyncPeriod }: ProxyConfiguration) => [syncPeriod / SECOND, minSyncPeriod / SECOND];
  assert.deepEqual(periods(configuration(withFlags('--proxy-mode=ipvs'))), [30n, 1n]);
  assert.deepEqual(periods(configuration(withFile(`${HEAD}mode: ipvs\n`))), [30n, 0n]);
  assert.deepEqual(periods(configuration(withFlags('--ipvs-sync-period=9s', '--ipvs-min-sync-period=3s'))), [30n, 1n]);
  const byFlags = ['--ipvs-sync-period=9s', '--iptables-sync-period=8s', '--iptables-min-sync-period=0'];
  assert.deepEqual(periods(configuration(withFlags('--proxy-mode=ipvs', ...byFlags))), [9n, 1n]);
  assert.deepEqual(periods(configuration(withFlags('--proxy-mode=nftables', ...byFlags))), [8n, 0n]);
  const file = `${HEAD}mode: nftables\nnftables: {syncPeriod: 5s, masqueradeAll: true}\niptables: {syncPeriod: 6s}\n`;
  assert.deepEqual(periods(configuration(withFile(file))), [5n, 1n]);
  assert.equal(configuration(withFile(file)).masqueradeAll, true);
});

test('masquerade-all applies to whatever mode runs; ipvs takes it from the iptables section', () => {
  assert.equal(configuration(withFlags('--masquerade-all', '--proxy-mode=nftables')).masqueradeAll, true);
  assert.equal(configuration(withFile(`${HEAD}mode: ipvs\niptables: {masqueradeAll: true}\n`)).masqueradeAll, true);
  assert.equal(
    configuration(withFile(`${HEAD}mode: nftables\niptables: {masqueradeAll: true}\n`)).masqueradeAll,
    false,
  );
});

test('nftables mode accepts node ports on the primary addresses unless told otherwise', () => {
  assert.deepEqual(configuration(withFlags('--proxy-mode=nftables')).nodePortAddresses, ['primary']);
  assert.deepEqual(
    configuration(withFlags('--nodeport-addresses=10.0.0.0/8,fd00::/8', '--nodeport-addresses=11.0.0.0/8'))
      .nodePortAddresses,
    ['10.0.0.0/8', 'fd00::/8', '11.0.0.0/8'],
  );
});

test('an explicit zero is a choice only where the document can tell it from absence', () => {
  const text = `${HEAD}iptables: {masqueradeBit: 0, localhostNodePorts: false, syncPeriod: 0s}
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 2h}
clientConnection: {qps: 0, burst: 0}
configSyncPeriod: 0s
`;
  const found = configuration(withFile(text));
  assert.deepEqual(found.iptables, { masqueradeBit: 0, localhostNodePorts: false });
  assert.equal(found.syncPeriod, 30n * SECOND);
  assert.equal(found.oomScoreAdj, 0);
  assert.deepEqual([found.conntrack.maxPerCore, found.conntrack.min], [0, 0]);
  assert.deepEqual([found.conntrack.tcpEstablishedTimeout, found.conntrack.tcpCloseWaitTimeout], [0n, 2n * HOUR]);
  assert.deepEqual([found.clientConnection.qps, found.clientConnection.burst], [5, 10]);
  assert.equal(found.configSyncPeriod, 900n * SECOND);
});

test('the host name is trimmed and lower-cased, and must not be blank', () => {
  assert.equal(configuration(withFlags('--hostname-override= Node-A ')).hostnameOverride, 'node-a');
  assert.equal(configuration(withFile(`${HEAD}hostnameOverride: FromFile\n`)).hostnameOverride, 'FromFile');
  assert.equal(error(withFlags('--hostname-override= ')), 'failed complete: empty hostname-override is invalid');
});

test('cluster networks are split at commas; given but empty is refused, empty in a file is not', () => {
  assert.deepEqual(configuration(withFlags('--cluster-cidr=10.0.0.0/8,fd00::/8')).detectLocal.clusterCIDRs, [
    '10.0.0.0/8',
    'fd00::/8',
  ]);
  assert.equal(
    error(withFlags('--cluster-cidr=')),
    'failed validate: KubeProxyConfiguration.DetectLocalConfiguration.ClusterCIDRs[0]: Invalid value: "": must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)',
  );
  assert.deepEqual(configuration(withFile(`${HEAD}clusterCIDR: ""\n`)).detectLocal.clusterCIDRs, []);
});

test('a missing file is told with its path', () => {
  const invocation = complete(['--config', '/no/such'], (path) => readFileSync(path, 'utf8'));
  assert.equal(error(invocation), 'failed complete: open /no/such: no such file or directory');
  assert.equal(
    error(complete(['--config=/'], (path) => readFileSync(path, 'utf8'))),
    'failed complete: read /: is a directory',
  );
});

test('a file that cannot be decoded is told with the cause', () => {
  const cause = (text: string) => error(withFile(text));
  assert.match(
    cause(`${HEAD}bindAddress: ::\n`),
    /^failed complete: failed to decode: yaml: line 3: mapping values are not allowed in this context$/,
  );
  assert.match(
    cause(`${HEAD}mode\nbindAddress: 0.0.0.0\n`),
    /^failed complete: failed to decode: .*could not find expected ':'/,
  );
  assert.match(
    cause('mode: ipvs\n'),
    /^failed complete: failed to decode: Object 'Kind' is missing in '\{"mode":"ipvs"\}'$/,
  );
});

test('a field nobody knows is forgiven and told', () => {
  const invocation = withFile(`${HEAD}udpIdleTimeout: 250ms\niptables: {bogus: 1}\nmode: ipvs\nmode: nftables\n`);
  assert.equal(configuration(invocation).mode, 'nftables');
  assert.ok('start' in invocation);
  const note = invocation.start.notes[0]!;
  assert.equal(note.message, 'Using lenient decoding as strict decoding failed');
  assert.deepEqual(note.values, {
    err: 'strict decoding error: line 6: key "mode" already set in map, unknown field "udpIdleTimeout", unknown field "iptables.bogus"',
  });
});

test('all faults are told at once', () => {
  assert.equal(
    error(withFile(`${HEAD}mode: userspace\noomScoreAdj: 2000\n`)),
    'failed validate: [KubeProxyConfiguration.KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: 2000: must be within the range [-1000, 1000], KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "userspace": must be iptables, ipvs, nftables or blank (blank means the best-available proxy [currently iptables])]',
  );
});

test('the userspace mode needs its feature gate, by flag or file', () => {
  const refused = withFlags('--proxy-mode=userspace');
  assert.match(error(refused), /Mode\.ProxyMode: Invalid value: "userspace"/);
  assert.ok(notes(refused).some((note) => note.includes('userspace')));
  assert.equal(
    configuration(withFlags('--mode=userspace', '--feature-gates=PortolanUserspaceMode=true')).mode,
    'userspace',
  );
  assert.equal(
    configuration(withFile(`${HEAD}mode: userspace\nfeatureGates: {PortolanUserspaceMode: true}\n`)).mode,
    'userspace',
  );
});

test('the ports of relays and their patience with UDP are checked where there are relays', () => {
  const gate = '--feature-gates=PortolanUserspaceMode=true';
  const set = configuration(withFlags('--mode=userspace', gate, '--proxy-port-range=40000-40999', '--udp-timeout=1s'));
  assert.deepEqual([set.portRange, set.portolan.udpIdleTimeout], ['40000-40999', 1_000_000_000n]);
  const wrong = error(withFlags('--mode=userspace', gate, '--proxy-port-range=9-8', '--udp-timeout=0'));
  assert.match(wrong, /PortRange: Invalid value: "9-8": must be N, A-B or A\+n, with ports up to 65535/);
  assert.match(wrong, /portolan\.udpIdleTimeout: Invalid value: .*: must be greater than 0/);
  assert.equal(configuration(withFlags('--proxy-port-range=9-8')).portRange, '9-8', 'other modes do not look at it');
});

test('our own settings come from the file or from flags, and flags win', () => {
  const text = `${HEAD}portolan: {serviceMetrics: true, consoleBindAddress: 127.0.0.1}\n`;
  const invocation = withFile(text, '--console-token-file=/t');
  const expected = {
    serviceMetrics: true,
    selfCheckPeriod: 600_000_000_000n,
    consoleBindAddress: '127.0.0.1:10253',
    consoleTokenFile: '/t',
    udpIdleTimeout: 250_000_000n,
  };
  assert.deepEqual(configuration(invocation).portolan, expected);
  assert.deepEqual(notes(invocation), ['Using iptables proxy']);
  assert.equal(configuration(withFile(text, '--service-metrics=false')).portolan.serviceMetrics, false);
  const wrong = error(withFlags('--console-bind-address=localhost:1'));
  assert.match(
    wrong,
    /KubeProxyConfiguration\.portolan\.consoleBindAddress: Invalid value: "localhost": must be a valid IP/,
  );
});

test('logging faults come first and have their own words', () => {
  const faults = (...args: string[]) => error(withFlags(...args));
  assert.equal(
    faults('--logging-format=xml'),
    'initialize logging: logging.format: Invalid value: "xml": Unsupported log format',
  );
  assert.equal(
    faults('--log-flush-frequency=0'),
    'initialize logging: logging.flushFrequency: Invalid value: "0s": Must be greater than zero',
  );
  assert.equal(
    faults('--logging-format=json', '--vmodule=a=1'),
    'initialize logging: logging.vmodule: Forbidden: Only supported for text log format',
  );
  assert.equal(
    faults('--log-text-split-stream', '--log-json-info-buffer-size=1Ki'),
    'initialize logging: [logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled, logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled]',
  );
  const split = withFlags(
    '--feature-gates=LoggingAlphaOptions=true',
    '--logging-format=json',
    '--log-json-split-stream',
  );
  assert.ok('start' in split);
  assert.deepEqual(split.start.logSettings, { format: 'json', verbosity: 0, vmodule: [], splitStream: true });
  assert.match(
    faults('--feature-gates=LoggingBetaOptions=false', '--logging-format=json'),
    /^initialize logging: logging\.format/,
  );
  const file = `${HEAD}logging: {vmodule: [{filePattern: "", verbosity: 1}, {filePattern: "a=b"}], verbosity: 4294967295}\n`;
  assert.equal(
    error(withFile(file)),
    'initialize logging: [logging.verbosity: Invalid value: 4294967295: Must be <= 2147483647, logging.vmodule[0]: Required value: File pattern must not be empty, logging.vmodule[1]: Invalid value: "a=b": File pattern must not contain equal sign or comma]',
  );
});

test('every flag and its value can be listed', () => {
  const invocation = withFlags('-v=1', '--nodeport-addresses=primary', '--feature-gates=AllBeta=true');
  assert.ok('flags' in invocation && 'start' in invocation);
  const lines = invocation.start.notes.filter((note) => note.message.startsWith('FLAG:'));
  assert.equal(lines.length, invocation.flags.size);
  assert.ok(lines.every((note) => note.level === 1 && note.isPlain));
  const texts = lines.map((note) => note.message);
  assert.deepEqual(
    texts,
    [...texts].sort((a, b) => (a.split('=')[0]! < b.split('=')[0]! ? -1 : 1)),
  );
  for (const line of [
    'FLAG: --bind-address="0.0.0.0"',
    'FLAG: --config-sync-period="15m0s"',
    'FLAG: --conntrack-tcp-timeout-established="24h0m0s"',
    'FLAG: --feature-gates="AllBeta=true"',
    'FLAG: --help="false"',
    'FLAG: --ipvs-exclude-cidrs="[]"',
    'FLAG: --kube-api-qps="5"',
    'FLAG: --nodeport-addresses="[primary]"',
    'FLAG: --v="1"',
    'FLAG: --version="false"',
  ]) {
    assert.ok(texts.includes(line), line);
  }
});
