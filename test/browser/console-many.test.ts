// Ten thousand services, in nftables mode: the list holds as many elements as are in sight, and search and scrolling reach all.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { VerifyShape } from '../../src/observe/console/shapes.ts';
import type { TraceReport } from '../../src/observe/trace/report.ts';
import { NO_BROWSER, openBrowser, openPage } from './browser.ts';
import { ConsoleBed, shopService } from './console-bed.ts';

const MANY = 10_000;
const MOST_ELEMENTS = 1500;

const services = Array.from({ length: MANY }, (_, i) =>
  shopService({ name: `service-${String(i).padStart(5, '0')}`, ip: `10.97.${i >> 8}.${i & 255}` }),
);

describe('the console of an agent with ten thousand services', { skip: NO_BROWSER ?? false }, () => {
  let bed: ConsoleBed;
  let browser: Browser;
  before(async () => {
    bed = await ConsoleBed.open({ mode: 'nftables', more: services });
    browser = await openBrowser();
    bed.dial('a1', '10.96.10.1:80', 10);
  });
  after(async () => {
    await browser?.close();
    await bed?.close();
  });

  test('keeps as many elements as are in sight, wherever the list stands', async () => {
    const { page, close } = await openPage(browser, bed.url);
    const elements = (): Promise<number> => page.evaluate<number>('document.querySelectorAll("*").length');
    await page.getByText(`${(MANY + 6).toLocaleString('en-US')} services`).waitFor();
    assert.ok((await elements()) < MOST_ELEMENTS);
    await page.getByRole('listbox').focus();
    await page.keyboard.press('End');
    await page.getByRole('option', { name: /storefront/ }).waitFor();
    assert.ok((await elements()) < MOST_ELEMENTS);
    await page.keyboard.press('PageUp');
    await page
      .getByRole('option', { name: /service-0999\d/ })
      .first()
      .waitFor();
    assert.ok((await page.locator('.row').count()) < 60);
    await page.getByRole('searchbox', { name: 'Search services' }).fill('07777');
    await page.getByText(/^1 of 10,006$/).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'service-07777', exact: true }).waitFor();
    await page.locator('.box.end .title').getByText('refused').waitFor();
    await close();
  });

  test('puts the busiest first, and moves the picture of nftables mode', async () => {
    const { page, close } = await openPage(browser, `${bed.url}#/service/shop/storefront`);
    await page.locator('.edge.busy').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'busiest' }).click();
    await page.locator('.row').first().getByText('storefront').waitFor();
    assert.deepEqual(await page.locator('.box.chain .title').allTextContents(), [
      'pick-tcp-3',
      'pick-tcp-3',
      'pick-nodeport-tcp-3',
    ]);
    await page.getByRole('button', { name: 'Trace' }).click();
    await page.locator('.sentence').waitFor();
    assert.equal(await page.locator('.edge.traced').count(), 4);
    await close();
  });

  test('traces and checks what the kernel holds', async () => {
    const report = await bed.json<TraceReport>('api/trace?from=pod&to=shop/storefront');
    assert.deepEqual(
      report.outcomes.map(({ share, end }) => [share, end]),
      [1, 2, 3].map(() => ['1/3', 'forwarded']),
    );
    const { agrees, services: checked } = await bed.json<VerifyShape>('api/verify');
    assert.equal(checked, MANY + 6);
    assert.ok(agrees);
  });
});
