// The agent against an API server that grants exactly the rules of deploy/: it is never refused, and no rule is idle.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { startApiServer } from '../../src/lab/apiserver/server.ts';
import { continueInSandbox } from '../../src/lab/sandbox.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { NODE, startAgent, TOKEN } from './agent.ts';
import type { PolicyRule } from './workload.ts';

continueInSandbox(import.meta.url);

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { rules } = parse(readFileSync(join(ROOT, 'deploy/base/cluster-role.yaml'), 'utf8')) as { rules: PolicyRule[] };

const granted = rules.flatMap(({ apiGroups, resources, verbs }) =>
  apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
);

const HEALTH_CHECK_PORT = 31999;
const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop', namespace: 'default' },
  spec: {
    type: 'LoadBalancer',
    clusterIP: '10.96.7.7',
    clusterIPs: ['10.96.7.7'],
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: HEALTH_CHECK_PORT,
    ports: [{ port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30080 }],
  },
};

test('the rules of deploy/ are what the agent asks for, no more and no less', { timeout: 60_000 }, async () => {
  const asked = new Set<string>();
  const api = await startApiServer({
    access: [{ token: TOKEN, user: 'system:kube-proxy', rules }],
    serviceCIDRs: ['10.96.0.0/16'],
    onRequest: ({ verb, resource }) => asked.add(`${verb} ${resource.group}/${resource.plural}`),
  });
  // Somebody has the port already: the agent reports it in an event, and again when the service comes back, which patches
  // the event.
  const taken = net.createServer().listen(HEALTH_CHECK_PORT, '0.0.0.0');
  await once(taken, 'listening');
  api.apply(NODE);
  api.apply(SERVICE);
  // A server that cannot stream its first list: the agent lists.
  for (const resource of ['nodes', 'services', 'endpointslices', 'servicecidrs']) {
    api.faults.answer({ status: 400, verb: 'watch', resource, times: 1 });
  }
  const nodePorts = '--nodeport-addresses=127.0.0.0/8'; // where the health-check port is opened too
  const agent = startAgent(api.url, ['--proxy-mode=nftables', nodePorts]);
  try {
    for (let revision = 1; granted.some((right) => !asked.has(right)) && revision < 100; revision++) {
      await systemClock.wait(300);
      if (revision % 2 === 1) api.delete('services', 'default', 'shop');
      else api.apply(SERVICE);
    }
    assert.deepEqual([...asked].sort(), [...granted].sort(), agent.log());
    assert.doesNotMatch(agent.log(), /forbidden/i);
  } finally {
    await agent.stop();
    taken.close();
    await api.close();
  }
});
