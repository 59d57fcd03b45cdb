import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startCoordinationSite } from '../coordination-site.ts';
import { openPage, startBrowser } from './browser.ts';
import { startCast } from './cast.ts';
import { startPlausibleCluster } from './plausible-cluster.ts';

// Writes the pictures of docs/how-to/status-page.md, of a real kube-apiserver and made-up programs: `npm run docs -- screenshots`.

const folder = new URL('../../../docs/images/', import.meta.url);

interface Picture {
  readonly name: string;
  readonly options: BrowserContextOptions;
  readonly prepare?: (page: Page) => Promise<void>;
}

const desktop = { viewport: { width: 1360, height: 800 } };
const phone = { viewport: { width: 390, height: 760 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

const pictures: readonly Picture[] = [
  { name: 'status-page-light', options: { ...desktop, colorScheme: 'light' } },
  {
    name: 'status-page-dark',
    options: { ...desktop, colorScheme: 'dark' },
    prepare: async (page) => {
      await page.getByRole('row', { name: /kube-system\/kube-scheduler/ }).click();
      await page.getByRole('heading', { name: /kube-scheduler/ }).waitFor();
    },
  },
  { name: 'status-page-phone', options: { ...phone, colorScheme: 'light' } },
];

const cast = await startCast(await startCoordinationSite());
const browser = await startBrowser();
try {
  const cluster = await startPlausibleCluster(cast);
  const opened = await Promise.all(pictures.map(({ options }) => openPage(browser, cast.url, options)));
  await cluster.preempt();
  await sleep(1000);
  for (const [index, { name, prepare }] of pictures.entries()) {
    const page = opened[index]?.page;
    if (!page) continue;
    await prepare?.(page);
    await page.screenshot({ path: new URL(`${name}.png`, folder).pathname, animations: 'disabled' });
  }
} finally {
  await browser.close();
  await cast.stop();
}
