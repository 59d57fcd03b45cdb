import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Crowd, leaseName, startCrowd } from './status-page/crowd.ts';
import { DESKTOP, PHONE, row, SOON, see, useBrowser } from './status-page/page-tests.ts';

// Whether users can read and reach everything: on screens of different widths, with a keyboard, and with a screen
// reader.

const TABLET: BrowserContextOptions = { viewport: { width: 820, height: 1180 }, hasTouch: true };
const LONG = `an-operator-${'with-a-long-name-'.repeat(4)}a`;
/** Its leader has expired. */
const EXPIRED = 'an-expired-lease';

const open = useBrowser();
let crowd: Crowd;

/** Waits until a page shows all Leases: those of the crowd, and two more. */
async function seeAll(page: Page, count: number): Promise<void> {
  await see(page, new RegExp(`^${(count + 2).toLocaleString('en')} Leases$`));
}

/** Targets that are smaller than 24 pixels, the minimum of WCAG 2.2. */
const SMALL_TARGETS = `[...document.querySelectorAll('button, summary, input, [data-key], label:has(input)')]
  .filter((each) => each.checkVisibility() && !each.matches('[type=radio]'))
  .map((each) => [each.getBoundingClientRect(), each.outerHTML])
  .filter(([{ width, height }]) => width < 24 || height < 24)
  .map(([, html]) => html)`;

describe.each([3, 3000])('with %i Leases', (count) => {
  beforeAll(async () => {
    crowd = await startCrowd(count);
    crowd.leases.seeLed(LONG);
    crowd.leases.seeCandidate(EXPIRED, `${EXPIRED}-b`);
    crowd.leases.seeLease(EXPIRED, { holderIdentity: `${EXPIRED}-a`, leaseDurationSeconds: 1 });
  }, 60_000);
  afterAll(() => crowd?.stop());

  test.each<{ name: string; options: BrowserContextOptions }>([
    { name: 'a phone', options: PHONE },
    { name: 'a tablet', options: TABLET },
    { name: 'a desktop', options: DESKTOP },
  ])('nothing is cut off, or too small to tap, on $name', async ({ options }) => {
    const { page, complaints } = await open(crowd.url, options);
    await seeAll(page, count);
    await row(page, `kube-system/${EXPIRED}`)
      .getByText(/ until \d+ s ago/)
      .waitFor(SOON);
    const cutOff = () =>
      page.evaluate(`[document.documentElement, ...document.querySelectorAll('.since, .filters label, .side')]
        .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.outerHTML)`);
    const outside = () =>
      page.evaluate(`[...document.querySelectorAll('input, button')].filter((each) =>
        each.checkVisibility() && each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML)`);
    expect(await cutOff()).toEqual([]);
    expect(await outside()).toEqual([]);
    expect(await page.evaluate(SMALL_TARGETS)).toEqual([]);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(1500);

    await row(page, `kube-system/${LONG}`).click();
    await page.locator('.ranking > li').first().waitFor(SOON);
    expect(await cutOff()).toEqual([]);
    expect(await outside()).toEqual([]);
    expect(await page.evaluate(SMALL_TARGETS)).toEqual([]);
    const side = await page.locator('#side').boundingBox();
    const bar = await page.locator('.bar').boundingBox();
    expect(side?.y).toBeGreaterThanOrEqual(bar?.height ?? Number.POSITIVE_INFINITY);
    expect(complaints).toEqual([]);
  });

  test.each<{ name: string; options: BrowserContextOptions }>([
    { name: 'a phone', options: PHONE },
    { name: 'a desktop', options: DESKTOP },
  ])('a screen reader finds a name for each control and each column, on $name', async ({ options }) => {
    const { page, context } = await open(crowd.url, options);
    await seeAll(page, count);
    await row(page, `kube-system/${LONG}`).click();
    await page.locator('.ranking > li').first().waitFor(SOON);
    await page.getByRole('button', { name: 'Close' }).waitFor(SOON);
    const inDetails = await accessibleNodes(page);
    expect(inDetails).toContain('button: Close');
    await page.keyboard.press('Escape');
    const nodes = await accessibleNodes(page);
    const controls = [...nodes, ...inDetails].filter((node) =>
      /^(link|button|radio|searchbox|grid|row|gridcell|columnheader|DisclosureTriangle):/.test(node),
    );
    expect(controls.filter((node) => /:\s*$/.test(node))).toEqual([]);
    expect(nodes.filter((node) => node.startsWith('columnheader:'))).toEqual(
      ['Lease', 'Leader', 'State', 'Candidates'].map((name) => `columnheader: ${name}`),
    );
    expect(nodes).toContain(`radio: All ${(count + 2).toLocaleString('en')}`);
    expect(nodes.find((node) => node.startsWith(`row: kube-system/${EXPIRED}, no leader`))).toBeDefined();
    await context.close();
  });

  test('Tab reaches the search, the filters, the Leases and the details, in this order', async () => {
    const { page } = await open(crowd.url);
    await seeAll(page, count);
    const reached: string[] = [];
    for (let step = 0; step < 4; step++) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate(
          'document.activeElement.id || document.activeElement.className || document.activeElement.value',
        ),
      );
    }
    expect(reached).toEqual(['skip', 'search', 'all', 'leases']);
    expect(await page.evaluate("getComputedStyle(document.querySelector('#leases')).outlineStyle")).toBe(
      'solid',
    );
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('detail-title');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.className')).toBe('close');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('leases');
  });

  test('announces the number of Leases after a search, and not when the cluster changes it', async () => {
    const { page } = await open(crowd.url);
    await seeAll(page, count);
    const found = page.locator('#found');
    expect(await found.innerText()).toBe('');
    expect(
      await page.locator('#count').evaluate((each) => each.closest('[role=status], [aria-live]')),
    ).toBeNull();
    await page.keyboard.press('/');
    await page.keyboard.type(leaseName(1));
    await expect.poll(() => found.innerText(), SOON).toMatch(/^1 of [\d,]+ Leases$/);
  });
});

test('on a phone, the key for the search closes the details, which cover the search', async () => {
  const small = await startCrowd(3);
  try {
    const { page } = await open(`${small.url}#kube-system/${leaseName(1)}`, PHONE);
    await page.locator('.ranking > li').first().waitFor(SOON);
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('search');
    expect(await page.locator('#detail').isVisible()).toBe(false);
  } finally {
    await small.stop();
  }
});

/** The nodes of the accessibility tree that are not ignored, as `role: name`. */
async function accessibleNodes(page: Page): Promise<readonly string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name }) => `${role?.value}: ${name?.value ?? ''}`);
}
