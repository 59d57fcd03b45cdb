import { expect, test } from 'vitest';
import { openerFor } from '../../src/demo/open-browser.ts';

const URL = 'http://127.0.0.1:1/';

test.each<{
  name: string;
  env: Record<string, string>;
  system: NodeJS.Platform;
  want: readonly string[] | undefined;
}>([
  { name: 'a Linux desktop', env: { DISPLAY: ':0' }, system: 'linux', want: ['xdg-open', URL] },
  {
    name: 'one with Wayland',
    env: { WAYLAND_DISPLAY: 'wayland-0' },
    system: 'linux',
    want: ['xdg-open', URL],
  },
  { name: 'a Linux without a screen', env: {}, system: 'linux', want: undefined },
  { name: 'a Mac', env: {}, system: 'darwin', want: ['open', URL] },
  { name: 'Windows', env: {}, system: 'win32', want: ['cmd', '/c', 'start', '', URL] },
  {
    name: 'a machine at the other end of SSH',
    env: { SSH_CONNECTION: '1', DISPLAY: ':0' },
    system: 'linux',
    want: undefined,
  },
  { name: 'a CI', env: { CI: 'true' }, system: 'darwin', want: undefined },
  { name: 'one who wants no browser', env: { BROWSER: 'none' }, system: 'darwin', want: undefined },
  { name: 'another system', env: {}, system: 'aix', want: undefined },
])('on $name a browser is opened by $want', ({ env, system, want }) => {
  expect(openerFor(URL, env, system)).toEqual(want);
});
