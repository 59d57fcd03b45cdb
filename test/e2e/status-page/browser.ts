import { accessSync, constants } from 'node:fs';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** A page, and what the browser had to say against it. */
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
  // As it is in most containers, /dev/shm is too small for a browser.
  '--disable-dev-shm-usage',
];

/**
 * Starts a real Chromium: the one that the variable CHROMIUM names, or Debian's.
 *
 * @throws {Error} that says what to install, when there is none.
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
  // Root may not use Chromium's sandbox; what is shown is our own page and nothing else.
  return chromium.launch({ executablePath, args: ARGUMENTS, chromiumSandbox: process.getuid?.() !== 0 });
}

/** Opens `url` in a context of its own: nothing is left of any page before. */
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
