// Pictures for the documentation, taken by the tests when PORTOLAN_PICTURES=1 asks for them.
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

export async function keepPicture(page: Page, name: string): Promise<void> {
  if (process.env.PORTOLAN_PICTURES !== '1') return;
  await page.waitForTimeout(3500); // until dots are everywhere
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url)) });
}
