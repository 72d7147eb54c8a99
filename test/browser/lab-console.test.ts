// The console of the running lab: one page for all nodes, while kubectl changes the cluster and chaos breaks it; and
// `kubectl portolan`, which asks the same agents through the API server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import type { TraceReport } from '../../src/observe/trace/report.ts';
import { TestLab } from '../support/lab.ts';
import { NO_BROWSER, openBrowser, openPage } from './browser.ts';
import { keepPicture } from './pictures.ts';

const BIN = fileURLToPath(new URL('../../bin', import.meta.url));

describe('the console of the lab', { skip: NO_BROWSER ?? false }, () => {
  const lab = new TestLab();
  let browser: Browser;
  let url = '';
  const traffic: Promise<unknown>[] = [];
  before(async () => {
    await lab.up();
    url = /Console +(\S+)/.exec(lab.said)![1]!;
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await Promise.all(traffic);
    await lab.remove();
  });

  const visit = async (hash: string, look: (page: Page) => Promise<void>): Promise<void> => {
    const { page, close } = await openPage(browser, `${url}${hash}`);
    try {
      await look(page);
    } finally {
      await close();
    }
  };
  const kubectlPortolan = async (...args: readonly string[]): Promise<string> => {
    const env = {
      ...process.env,
      PATH: `${BIN}:${process.env.PATH}`,
      KUBECONFIG: join(lab.folder, 'portolan-lab', 'kubeconfig'),
      HOME: lab.folder,
    };
    return (await promisify(execFile)('kubectl', ['portolan', ...args], { env })).stdout;
  };

  test('has every node to choose from, each with a map of its own', () =>
    visit('#/map', async (page) => {
      const chooser = page.getByRole('combobox', { name: 'Node' });
      await chooser.waitFor();
      const names = await chooser.locator('option').allTextContents();
      assert.equal(names.length, 3);
      await chooser.selectOption(names[2]!);
      await page.locator('.hub .title').getByText(names[2]!).waitFor();
    }));

  test('follows a deployment that kubectl scales, packets and all', () =>
    visit('#/service/yaobank/summary', async (page) => {
      const endpoints = page.locator('.box.endpoint');
      await endpoints.first().waitFor();
      const where = 'jsonpath={.items[0].spec.nodeName}';
      const node = await lab.ok('kubectl', '-n', 'yaobank', 'get', 'pods', '-l', 'app=customer', '-o', where);
      await page.getByRole('combobox', { name: 'Node' }).selectOption(node);
      traffic.push(lab.run('curl', '--from', 'customer', '--times', '600', 'http://summary.yaobank/'));
      await page.locator('.edge.busy').first().waitFor({ state: 'attached' });
      await lab.ok('kubectl', '-n', 'yaobank', 'scale', 'deployment', 'summary', '--replicas', '4');
      await endpoints.nth(3).waitFor();
      assert.equal(await page.locator('.label .share').filter({ hasText: '1/4' }).count(), 4);
      await keepPicture(page, 'console-lab');
      await lab.ok('kubectl', '-n', 'yaobank', 'scale', 'deployment', 'summary', '--replicas', '2');
      await endpoints.nth(2).waitFor({ state: 'detached' });
    }));

  test('reports what chaos does to the rules of a node', () =>
    visit('#/problems', async (page) => {
      const chooser = page.getByRole('combobox', { name: 'Node' });
      await chooser.waitFor();
      const [, name] = await chooser.locator('option').allTextContents();
      await chooser.selectOption(name!);
      await page.getByText('Nobody touched the rules').waitFor();
      await lab.ok('chaos', 'flush-rules', name!);
      await page
        .getByText(/put right .* later/)
        .first()
        .waitFor();
    }));

  test('kubectl portolan traces from a pod to a Service through the API server', async () => {
    const pods = await lab.ok('kubectl', '-n', 'yaobank', 'get', 'pods', '-o', 'name');
    const pod = pods.split('\n').find((name) => name.includes('customer'))!;
    const text = await kubectlPortolan('trace', '-n', 'yaobank', '--from', pod, '--to', 'svc/summary');
    assert.match(text, /yaobank\/summary/);
    assert.match(text, /[Hh]alf goe?s? to .*half to/s);
    const json = await kubectlPortolan('trace', '-n', 'yaobank', '--from', pod, '--to', 'svc/summary', '-o', 'json');
    const { outcomes } = JSON.parse(json) as TraceReport;
    assert.deepEqual(
      outcomes.map(({ share }) => share),
      ['1/2', '1/2'],
    );
    assert.match(await kubectlPortolan('services', 'yaobank'), /yaobank\/summary/);
    assert.match(await kubectlPortolan('verify'), /all agree/);
    assert.match(await kubectlPortolan('changes'), /SINCE CHANGE/);
  });
});
