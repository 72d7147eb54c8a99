// A real Chromium, with a profile of its own, and what every test of the console must find: no error, nothing from elsewhere.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Why there can be no browser here; undefined if there can. */
export const NO_BROWSER = existsSync(CHROMIUM)
  ? undefined
  : `${CHROMIUM} is not installed (scripts/setup.sh installs it)`;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

export interface PageOptions {
  readonly dark?: boolean;
  readonly reducedMotion?: boolean;
  /** What the browser may complain of. */
  readonly expects?: RegExp;
}

export interface TestPage {
  readonly page: Page;
  /** Fails if the page complained or asked anybody but its own server. */
  close(): Promise<void>;
}

export async function openPage(browser: Browser, url: string, options: PageOptions = {}): Promise<TestPage> {
  const page = await browser.newPage({
    viewport: { width: 1440, height: 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
  });
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) complaints.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return {
    page,
    close: async () => {
      await page.close();
      assert.deepEqual(
        complaints.filter((text) => !options.expects?.test(text)),
        [],
      );
    },
  };
}
