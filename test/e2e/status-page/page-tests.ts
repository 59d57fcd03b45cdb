import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { openPage, startBrowser, type WatchedPage } from './browser.ts';

export const DESKTOP: BrowserContextOptions = { viewport: { width: 1440, height: 900 } };
export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};
/** Maximum time for a slow machine to show something. */
export const SOON = { timeout: 20_000 };

/** Starts a browser for the tests of a file. The returned function opens a page, which is closed after the test. */
export function useBrowser(): (url: string, options?: BrowserContextOptions) => Promise<WatchedPage> {
  let browser: Browser;
  const pages: WatchedPage[] = [];
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  afterAll(() => browser?.close());
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((each) => each.close()));
  });
  return async (url, options = DESKTOP) => {
    const opened = await openPage(browser, url, options);
    pages.push(opened);
    return opened;
  };
}

export function row(page: Page, lease: string) {
  return page.getByRole('row', { name: new RegExp(`^${lease},`) });
}

export async function see(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor(SOON);
}
