// The console as a person meets it: a real Chromium, a real agent, a real kernel, and clients that dial.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { NO_BROWSER, openBrowser, openPage, type PageOptions } from './browser.ts';
import { ConsoleBed, shopSlice } from './console-bed.ts';
import { keepPicture } from './pictures.ts';

describe('the console of an agent', { skip: NO_BROWSER ?? false }, () => {
  let bed: ConsoleBed;
  let browser: Browser;
  before(async () => {
    bed = await ConsoleBed.open();
    browser = await openBrowser();
    bed.dial('a1', '10.96.10.1:80', 12);
    bed.dial('a2', '10.96.10.1:80', 5);
    bed.dial('x', '192.168.50.1:30080', 4);
    bed.dial('b1', '10.96.10.2:80', 5);
    bed.dial('x', '192.168.50.1:30090', 3);
  });
  after(async () => {
    await browser?.close();
    await bed?.close();
  });

  const visit = async (hash: string, look: (page: Page) => Promise<void>, options?: PageOptions): Promise<void> => {
    const { page, close } = await openPage(browser, `${bed.url}${hash}`, options);
    try {
      await look(page);
    } finally {
      await close();
    }
  };

  test('shows services with what the kernel counts, and the picture of the one that is chosen', () =>
    visit('', async (page) => {
      await page.getByRole('option', { name: /storefront/ }).click();
      await page.getByRole('heading', { name: 'storefront', exact: true }).waitFor();
      const endpoints = page.locator('.box.endpoint');
      assert.deepEqual(await endpoints.locator('.title').allTextContents(), [
        'storefront-a1',
        'storefront-b1',
        'storefront-b2',
      ]);
      assert.deepEqual(await page.locator('.label .share').allTextContents(), ['1/3', '1/3', '1/3']);
      const leftOut = page.locator('.box.left-out');
      assert.match((await leftOut.textContent()) ?? '', /storefront-a2.*not ready/);
      await page.locator('.edge.busy').first().waitFor({ state: 'attached' });
      await page.locator('.dot').first().waitFor();
      await page.getByRole('option', { name: /storefront.*\d\/s/ }).waitFor();
      await keepPicture(page, 'console-service-light');
    }));

  test('finds services by name and by address', () =>
    visit('', async (page) => {
      const search = page.getByRole('searchbox', { name: 'Search services' });
      const names = page.locator('.row-name b');
      await search.fill('cart');
      await page.getByText('1 of 6').waitFor();
      assert.deepEqual(await names.allTextContents(), ['cart']);
      await search.fill('10.96.10.3');
      await names.getByText('checkout').waitFor();
      assert.deepEqual(await names.allTextContents(), ['checkout']);
      await search.fill('nothing-like-this');
      await page.getByText('Nothing found.').waitFor();
    }));

  test('draws a trace on the picture, beside the rules in the words of the kernel', () =>
    visit(
      '#/service/shop/storefront',
      async (page) => {
        await page.getByRole('button', { name: 'Trace' }).click();
        const sentence = page.locator('.sentence');
        await sentence.waitFor();
        assert.match((await sentence.textContent()) ?? '', /A third go(es)? to 10\.244\.1\.11:8080 on this node/);
        assert.equal(await page.locator('.outcome').count(), 3);
        assert.equal(await page.locator('.edge.traced').count(), 4);
        assert.equal(await page.locator('.badge').count(), 2);
        const { stdout } = await bed.agents.network.exec('n1', ['iptables-save', '-t', 'nat']);
        for (const rule of await page.locator('.hop code').allTextContents())
          assert.ok(!rule.startsWith('-A KUBE-SVC') || stdout.includes(rule), `${rule} is not in the kernel`);
        await keepPicture(page, 'console-trace-dark', 1240);
      },
      { dark: true },
    ));

  test('says in the form what cannot be traced', () =>
    visit(
      '#/service/shop/cart',
      async (page) => {
        await page.getByLabel('To', { exact: true }).fill('no-such-service');
        await page.getByRole('button', { name: 'Trace' }).click();
        await page.getByText(/no Service of this name/).waitFor();
      },
      { expects: /status of 400/ },
    ));

  test('follows a change of endpoints at once', () =>
    visit('#/service/shop/cart', async (page) => {
      const titles = page.locator('.box.endpoint .title');
      await titles.nth(1).waitFor();
      bed.agents.apply(shopSlice('cart', ['a1', 'a2', 'b1']));
      await titles.nth(2).waitFor();
      assert.equal(await page.locator('.label .share').filter({ hasText: '1/3' }).count(), 3);
      assert.ok((await page.locator('.change').count()) >= 1);
      bed.agents.apply(shopSlice('cart', ['a1', 'a2']));
      await titles.nth(2).waitFor({ state: 'detached' });
    }));

  test('reports rules that somebody flushed, and that they were put right', () =>
    visit('#/problems', async (page) => {
      await page.getByText('Nobody touched the rules').waitFor();
      await bed.agents.network.exec('n1', ['iptables', '-F', '-t', 'nat']);
      for (const table of ['nat', 'filter', 'mangle'])
        await bed.agents.network.exec('n1', ['sh', '-c', `iptables -t ${table} -F; iptables -t ${table} -X`]);
      await page
        .getByText(/the tables were flushed/)
        .first()
        .waitFor();
      await page
        .getByText(/put right .* later/)
        .first()
        .waitFor();
      await page.getByRole('button', { name: 'Check every address now' }).click();
      await page.getByText(/All agree/).waitFor();
      await keepPicture(page, 'console-problems-light');
    }));

  test('shows where connections go on a map, and what changed when', () =>
    visit('#/map', async (page) => {
      await page.locator('.lane.busy').first().waitFor();
      assert.deepEqual((await page.locator('.place .title').allTextContents()).sort(), [
        'n1',
        'n2',
        'outside the cluster',
      ]);
      await keepPicture(page, 'console-map-light');
      await page.getByRole('link', { name: 'Changes' }).click();
      await page.getByRole('heading', { name: 'Changes' }).waitFor();
      assert.match((await page.locator('.stages').first().getAttribute('aria-label')) ?? '', /plan .* ms/);
      await keepPicture(page, 'console-changes-light');
    }));

  test('can be used without a mouse', () =>
    visit('', async (page) => {
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('/');
      await page.keyboard.insertText('shop'); // at once: a search for its first letters would look the same
      await page.getByText('5 of 6').waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'checkout', exact: true }).waitFor();
      await page.keyboard.press('t');
      await page.keyboard.press('Enter');
      await page.locator('.sentence').waitFor();
      await page.locator('.box.chain').first().focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'all rules' }).waitFor();
      await page.keyboard.press('m');
      await page.getByRole('heading', { name: 'Map' }).waitFor();
      await page.keyboard.press('?');
      await page.getByRole('heading', { name: 'Keys' }).waitFor();
      await page.keyboard.press('Escape');
    }));

  test('is light or dark as the system says, until the button says otherwise', () =>
    visit(
      '#/service/shop/cart',
      async (page) => {
        const background = (): Promise<string> =>
          page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
        const isDark = (color: string): boolean => Number(/\d+/.exec(color)![0]) < 60;
        assert.ok(isDark(await background()));
        await page.getByRole('button', { name: 'Light or dark' }).click();
        assert.ok(!isDark(await background()));
      },
      { dark: true },
    ));

  test('moves nothing where motion is not wanted', () =>
    visit(
      '#/service/shop/storefront',
      async (page) => {
        await page.locator('.edge.busy').first().waitFor({ state: 'attached' });
        assert.equal(await page.locator('.dot').count(), 0);
      },
      { reducedMotion: true },
    ));
});
