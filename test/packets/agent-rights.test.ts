// The agent with little: NET_ADMIN and nothing else on its host, and at a TLS API server only the rights that deploy/ grants.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { PolicyRule } from '../../src/lab/apiserver/access.ts';
import { AgentBed, complaints, service, slice } from '../support/agent-bed.ts';

const NET_ADMIN_ALONE = [
  'setpriv',
  '--bounding-set',
  '-all,+net_admin',
  '--inh-caps',
  '-all,+net_admin',
  '--no-new-privs',
];
const CAP_NET_ADMIN = 1 << 12;

test('with NET_ADMIN alone it works, and says what it has to do without', async () => {
  const bed = await AgentBed.open();
  try {
    bed.apply(
      service({ name: 'web', ip: '10.96.4.1', nodePort: 30080 }),
      slice('web', ['10.244.1.11']),
      service({ name: 'dns', ip: '10.96.4.2', protocol: 'UDP' }),
      slice('dns', ['10.244.1.12'], { protocol: 'UDP' }),
    );
    const agent = await bed.startSynced({
      wrapper: NET_ADMIN_ALONE,
      config: { conntrack: { maxPerCore: 1_000_000, min: 131_072 } },
    });
    const { stdout } = await bed.network.exec('n1', ['cat', `/proc/${agent.process.pid}/status`]);
    for (const set of ['CapEff', 'CapPrm', 'CapBnd'])
      assert.equal(parseInt(new RegExp(`^${set}:\\s*(\\w+)`, 'm').exec(stdout)?.[1] ?? '', 16), CAP_NET_ADMIN, set);
    await bed.rulesFollow();
    assert.match(agent.log, /"A kernel setting could not be written" consequence=".*nf_conntrack_max/);
    assert.match(agent.log, /"The OOM score could not be set" reason="\w+"/);

    const web = await bed.network.probe({ from: 'x', proto: 'tcp', to: '192.168.50.1:30080' });
    assert.deepEqual(Object.keys(web.answered ?? {}), ['a1:8080']);
    await bed.network.probe({ from: 'a1', proto: 'udp', to: '10.96.4.2:80', count: 5 });
    bed.apply(slice('dns', ['10.244.2.12'], { protocol: 'UDP' }));
    await bed.rulesFollow();
    await agent.said(/"Deleted stale UDP flows" ipFamily="IPv4" count=5/);
    for (const line of complaints(agent.log))
      assert.match(line, /A kernel setting could not be written|configuration may be incomplete/);
  } finally {
    await bed.close();
  }
});

test('over TLS, with a token that may do what deploy/ grants, it is refused nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-tls-'));
  const file = (name: string): string => join(folder, name);
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=kubernetes', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...made, ...subject, '-keyout', file('key'), '-out', file('cert')], {
    stdio: 'ignore',
  });
  const tls = { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') };
  rmSync(folder, { recursive: true });
  const role = readFileSync(new URL('../../deploy/base/cluster-role.yaml', import.meta.url), 'utf8');
  const { rules } = parse(role) as { rules: PolicyRule[] };

  const bed = await AgentBed.open({ tls, access: [{ token: 's3cret', user: 'system:kube-proxy', rules }] });
  try {
    bed.apply(service({ name: 'web', ip: '10.96.4.1' }), slice('web', ['10.244.1.11']));
    const agent = await bed.startSynced({ credentials: { token: 's3cret', certificateAuthority: tls.cert } });
    await bed.rulesFollow();
    bed.apply(slice('web', ['10.244.1.12', '10.244.2.11']));
    await bed.rulesFollow();
    assert.doesNotMatch(agent.log, /forbidden|Unauthorized|Failed to watch|Unable to write event/i);
    const [event] = bed.server.list('events');
    assert.equal((event as { reason?: string } | undefined)?.reason, 'Starting');

    const stranger = await bed.start({ credentials: { token: 'wrong', certificateAuthority: tls.cert } });
    await stranger.said(/"Failed to watch" err="[^"]*401 Unauthorized[^"]*" resource="nodes"/);
  } finally {
    await bed.close();
  }
});
