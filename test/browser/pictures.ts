// Pictures for the documentation, taken by the tests when PORTOLAN_PICTURES=1 asks for them.
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** `height`: of the window, where more should be seen. */
export async function keepPicture(page: Page, name: string, height = 900): Promise<void> {
  if (process.env.PORTOLAN_PICTURES !== '1') return;
  await page.setViewportSize({ width: 1440, height });
  await page.waitForTimeout(3500); // until dots are everywhere
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url)) });
}
