import assert from 'node:assert/strict';
import test from 'node:test';
import { SECOND } from '../lib/duration.ts';
import type { Settings } from './configuration.ts';
import { settingsOf, withPlatformDefaults } from './defaults.ts';
import { aggregated } from './problems.ts';
import { problemsOf } from './validate.ts';

const DEFAULTS = withPlatformDefaults(settingsOf({}));

function problems(change: Partial<Settings>): readonly string[] {
  return problemsOf({ ...DEFAULTS, ...change }).map((problem) => problem.replace(/^KubeProxyConfiguration\./, ''));
}

const { conntrack, ipvs, detectLocal, clientConnection } = DEFAULTS;

test('the defaults are valid in every mode', () => {
  for (const mode of ['', 'iptables', 'ipvs', 'nftables']) assert.deepEqual(problems({ mode }), []);
});

test('each fault has its path, its value and its words', () => {
  const notNegative = 'must be greater than or equal to 0';
  const conntrackPath = 'KubeProxyLinuxConfiguration.KubeProxyConntrackConfiguration';
  const cases: [Partial<Settings>, string[]][] = [
    [
      { iptables: { masqueradeBit: 32, localhostNodePorts: true } },
      ['KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 32: must be within the range [0, 31]'],
    ],
    [{ nftables: { masqueradeBit: -1 } }, []],
    [
      { mode: 'nftables', nftables: { masqueradeBit: -1 } },
      ['KubeProxyNFTablesConfiguration.MasqueradeBit: Invalid value: -1: must be within the range [0, 31]'],
    ],
    [{ ipvs: { ...ipvs, tcpTimeout: -SECOND, excludeCIDRs: ['x'] } }, []],
    [
      { mode: 'ipvs', ipvs: { ...ipvs, tcpTimeout: -SECOND, udpTimeout: -1n, excludeCIDRs: ['10.0.0.0/8', 'x'] } },
      [
        `KubeProxyIPVSConfiguration.TCPTimeout: Invalid value: "-1s": ${notNegative}`,
        `KubeProxyIPVSConfiguration.UDPTimeout: Invalid value: "-1ns": ${notNegative}`,
        'KubeProxyIPVSConfiguration.ExcludeCidrs[1]: Invalid value: "x": must be a valid CIDR',
      ],
    ],
    [
      { conntrack: { ...conntrack, maxPerCore: -1, udpStreamTimeout: -SECOND }, oomScoreAdj: -1001 },
      [
        `${conntrackPath}.MaxPerCore: Invalid value: -1: ${notNegative}`,
        `${conntrackPath}.UDPStreamTimeout: Invalid value: "-1s": ${notNegative}`,
        'KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: -1001: must be within the range [-1000, 1000]',
      ],
    ],
    [
      { clientConnection: { ...clientConnection, burst: -1 }, configSyncPeriod: 0n },
      [
        `ClientConnection.Burst: Invalid value: -1: ${notNegative}`,
        'ConfigSyncPeriod: Invalid value: "0s": must be greater than 0',
      ],
    ],
    [
      { syncPeriod: 0n, minSyncPeriod: -SECOND },
      [
        'SyncPeriod: Invalid value: "0s": must be greater than 0',
        `MinSyncPeriod: Invalid value: "-1s": ${notNegative}`,
      ],
    ],
    [
      { syncPeriod: SECOND, minSyncPeriod: 2n * SECOND },
      ['SyncPeriod: Invalid value: "2s": must be greater than or equal to KubeProxyConfiguration.MinSyncPeriod'],
    ],
    [
      { bindAddress: '[::]' },
      ['BindAddress: Invalid value: "[::]": not a valid textual representation of an IP address'],
    ],
    [{ healthzBindAddress: '' }, []],
    [
      { healthzBindAddress: 'x', metricsBindAddress: 'host:0' },
      [
        'HealthzBindAddress: Invalid value: "x": must be IP:port',
        'MetricsBindAddress: Invalid value: "host": must be a valid IP',
        'MetricsBindAddress: Invalid value: "0": must be a valid port',
      ],
    ],
    [{ nodePortAddresses: ['primary'] }, []],
    [
      { nodePortAddresses: ['x', 'primary', 'y'] },
      [
        'NodePortAddresses[0]: Invalid value: "x": must be a valid CIDR',
        "NodePortAddresses[1]: Invalid value: \"primary\": can't use both 'primary' and CIDRs",
      ],
    ],
    [{ showHiddenMetricsForVersion: '1.35' }, []],
    [
      { showHiddenMetricsForVersion: '1.20' },
      [
        'ShowHiddenMetricsForVersion: Invalid value: "1.20": invalid showHiddenMetricsForVersion: showHiddenMetricsForVersion: Invalid value: "1.20": must be omitted or have the value \'1.35\'; only the previous minor version is allowed',
      ],
    ],
    [
      { detectLocalMode: 'Guess' },
      [
        'DetectLocalMode: Unsupported value: "Guess": supported values: "ClusterCIDR", "NodeCIDR", "BridgeInterface", "InterfaceNamePrefix", ""',
      ],
    ],
    [
      { detectLocalMode: 'BridgeInterface' },
      ['DetectLocalConfiguration.InterfaceName: Invalid value: "": must not be empty'],
    ],
    [
      { detectLocalMode: 'InterfaceNamePrefix' },
      ['DetectLocalConfiguration.InterfacePrefix: Invalid value: "": must not be empty'],
    ],
  ];
  for (const [change, expected] of cases) assert.deepEqual(problems(change), expected);
});

test('cluster networks are one, or one of each family', () => {
  const found = (...clusterCIDRs: string[]) => problems({ detectLocal: { ...detectLocal, clusterCIDRs } });
  const pair = 'must be a either a single CIDR or dual-stack pair of CIDRs (e.g. [10.100.0.0/16, fde4:8dba:82e1::/48]';
  assert.deepEqual(found('10.0.0.0/8'), []);
  assert.deepEqual(found('fd00::/8', '10.0.0.0/8'), []);
  assert.deepEqual(found('10.0.0.0/8', '11.0.0.0/8'), [
    `DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: ${pair}`,
  ]);
  assert.deepEqual(found('a', 'b', 'c'), [
    `DetectLocalConfiguration.ClusterCIDRs: Invalid value: ["a","b","c"]: ${pair}`,
  ]);
  assert.deepEqual(found('10.0.0.0/8', ' fd00::/8'), [
    'DetectLocalConfiguration.ClusterCIDRs[1]: Invalid value: " fd00::/8": must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)',
  ]);
  assert.deepEqual(problems({ detectLocalMode: 'NodeCIDR', detectLocal: { ...detectLocal, clusterCIDRs: ['x'] } }), []);
});

test('one problem is bare, several are in brackets, the same one is said once', () => {
  assert.equal(aggregated(['a']), 'a');
  assert.equal(aggregated(['a', 'b', 'a']), '[a, b]');
});
