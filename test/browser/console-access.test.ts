// Who may see the console: with a token whoever has it, without one nobody from elsewhere.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NO_BROWSER, openBrowser, openPage } from './browser.ts';
import { ConsoleBed } from './console-bed.ts';

/** `fetch` does not let us choose the Host header. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers, method }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('a console with a token', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-token-'));
  let bed: ConsoleBed;
  before(async () => {
    writeFileSync(join(folder, 'token'), 'open sesame\n');
    const portolan = { consoleBindAddress: '0.0.0.0', consoleTokenFile: join(folder, 'token') };
    bed = await ConsoleBed.open({ portolan });
  });
  after(async () => {
    await bed?.close();
    rmSync(folder, { recursive: true });
  });

  test('answers whoever shows it, and nobody else', async () => {
    const api = `${bed.url}api/node`;
    assert.equal(await statusOf(api, {}), 401);
    assert.equal(await statusOf(api, { 'X-Portolan-Token': 'open barley' }), 401);
    assert.equal(await statusOf(api, { 'X-Portolan-Token': 'open sesame', Host: 'node1:10253' }), 200);
    assert.equal(await statusOf(`${api}?token=open+sesame`, {}), 200);
    assert.equal(await statusOf(api, { 'X-Portolan-Token': 'open sesame' }, 'POST'), 405);
  });

  test('has the page ask for it', { skip: NO_BROWSER ?? false }, async () => {
    const browser = await openBrowser();
    try {
      const { page, close } = await openPage(browser, bed.url, { expects: /status of 401/ });
      await page.getByLabel('Token').fill('open sesame');
      await page.getByRole('button', { name: 'Open' }).click();
      await page.getByRole('option', { name: /storefront/ }).waitFor();
      await close();
    } finally {
      await browser.close();
    }
  });
});

test('a console on loopback answers to the names of this machine, and only shows', async () => {
  const bed = await ConsoleBed.open();
  try {
    assert.equal(await statusOf(bed.url, {}), 200);
    assert.equal(await statusOf(`${bed.url}api/node`, { Host: 'rebound.example' }), 403);
    assert.equal(await statusOf(`${bed.url}api/node`, {}, 'DELETE'), 405);
    assert.equal(await statusOf(`${bed.url}../src/daemon.ts`, {}), 404);
    const { headers } = await fetch(bed.url);
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
  } finally {
    await bed.close();
  }
});

test('a console that all could reach stays off without a token', async () => {
  const bed = await ConsoleBed.open({ portolan: { consoleBindAddress: '0.0.0.0' } });
  try {
    assert.match(bed.agents.agent.log, /The console needs a token where it is not on loopback/);
    await assert.rejects(fetch(bed.url));
  } finally {
    await bed.close();
  }
});
