import { spawn } from 'node:child_process';
import { platform } from 'node:os';
import type { Environment } from '../support/host.ts';

/** What shows a URL in the browser of whoever sits there, on each system. */
const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ['open'],
  // The empty word is the title of a window.
  win32: ['cmd', '/c', 'start', ''],
  linux: ['xdg-open'],
};

/** The command that shows `url`; undefined where nobody would see it. */
export function openerFor(
  url: string,
  env: Environment,
  system: NodeJS.Platform = platform(),
): readonly [command: string, ...args: string[]] | undefined {
  const isElsewhere = env['CI'] || env['SSH_CONNECTION'] || env['SSH_TTY'] || env['BROWSER'] === 'none';
  const hasScreen = system !== 'linux' || env['DISPLAY'] || env['WAYLAND_DISPLAY'];
  const opener = OPENERS[system];
  return isElsewhere || !hasScreen || !opener ? undefined : [...opener, url];
}

/** Shows `url` in a browser where somebody would see it. What comes of it does not matter: the URL is on the screen too. */
export function openBrowser(url: string, env: Environment): void {
  const [command, ...args] = openerFor(url, env) ?? [];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
