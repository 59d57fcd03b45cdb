import { accessSync, constants } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** A page, and the browser's error messages about it. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, of the console and of the content security policy. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

const ARGUMENTS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-gpu',
  '--no-first-run',
  // As in most containers, /dev/shm is too small for a browser.
  '--disable-dev-shm-usage',
];

/**
 * Starts a real Chromium: the one in the variable CHROMIUM, or Debian's.
 * @throws {Error} with what to install if there is none
 */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] || '/usr/bin/chromium';
  try {
    accessSync(executablePath, constants.X_OK);
  } catch (cause) {
    throw new Error(
      `there is no Chromium at ${executablePath}: apt-get install chromium, or name another by CHROMIUM`,
      { cause },
    );
  }
  // Root cannot use Chromium's sandbox. The browser shows only our own page.
  return chromium.launch({ executablePath, args: ARGUMENTS, chromiumSandbox: process.getuid?.() !== 0 });
}

/** Opens `url` in its own context, without state of earlier pages. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    console.error('policy violation: ' + event.violatedDirective + ' by ' + event.blockedURI);
  });`);
  await page.goto(url);
  return { page, context, complaints, close: () => context.close() };
}
