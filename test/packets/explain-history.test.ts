// On a node, explain asks the agent what it brought to the kernel and how long each stage took.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { KubeObject } from '../../src/lab/apiserver/object.ts';
import { AgentBed } from '../support/agent-bed.ts';
import { GOLDEN_NODES, goldenCases } from '../support/golden.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

test('explain tells the last changes of a Service, with the time of each stage', async () => {
  const bed = await AgentBed.open();
  try {
    const objects = goldenCases().find(({ name }) => name === 'clusterip-2-endpoints')!.steps[0]!.apply!;
    await bed.startSynced();
    const from = bed.agent.log.length;
    bed.server.seed(objects as unknown as KubeObject[]);
    await bed.agent.said(/"Synced" ipFamily="IPv4" .*changed=1 full=false/, from);
    const command = ['explain', 'service', 'demo/web', '-f', '-', '--live', '--node', 'n1'];
    const stdin = [...GOLDEN_NODES, ...objects].map((object) => JSON.stringify(object)).join('\n---\n');
    const explain = (...more: string[]): Promise<{ stdout: string; stderr: string }> =>
      bed.network.exec('n1', [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, ...command, ...more], {
        stdin,
      });
    const { stdout, stderr } = await explain();
    assert.match(
      stdout,
      /last changes\n +\d{4}-\S+Z {2}probe [\d.]+ ms, plan [\d.]+ ms, diff [\d.]+ ms, apply [\d.]+ ms/,
      stderr,
    );
    const [told] = JSON.parse((await explain('-o', 'json')).stdout) as {
      changes: { services: string[]; wasFull: boolean }[];
    }[];
    assert.deepEqual(told!.changes[0]!.services, ['demo/web']);
    assert.equal(told!.changes[0]!.wasFull, false);
  } finally {
    await bed.close();
  }
});
