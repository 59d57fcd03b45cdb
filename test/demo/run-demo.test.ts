import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { describe, expect, type TestContext, test } from 'vitest';
import { openerFor } from '../../src/demo/run-demo.ts';
import { recordedSteps, stepsOf } from '../docs/recording.ts';

const PAGE_URL = 'http://127.0.0.1:1/';

test.each<{
  name: string;
  env: Record<string, string>;
  system: NodeJS.Platform;
  want: readonly string[] | undefined;
}>([
  { name: 'a Linux desktop', env: { DISPLAY: ':0' }, system: 'linux', want: ['xdg-open', PAGE_URL] },
  {
    name: 'one with Wayland',
    env: { WAYLAND_DISPLAY: 'wayland-0' },
    system: 'linux',
    want: ['xdg-open', PAGE_URL],
  },
  { name: 'a Linux without a screen', env: {}, system: 'linux', want: undefined },
  { name: 'a Mac', env: {}, system: 'darwin', want: ['open', PAGE_URL] },
  { name: 'Windows', env: {}, system: 'win32', want: ['cmd', '/c', 'start', '', PAGE_URL] },
  {
    name: 'a machine at the other end of SSH',
    env: { SSH_CONNECTION: '1', DISPLAY: ':0' },
    system: 'linux',
    want: undefined,
  },
  { name: 'a CI', env: { CI: 'true' }, system: 'darwin', want: undefined },
  {
    name: 'an operating system without a browser',
    env: { BROWSER: 'none' },
    system: 'darwin',
    want: undefined,
  },
  { name: 'another system', env: {}, system: 'aix', want: undefined },
])('on $name a browser is opened by $want', ({ env, system, want }) => {
  expect(openerFor(PAGE_URL, env, system)).toEqual(want);
});

/** The program in its own process, without a terminal and with an empty environment. */
function startProgram(
  { onTestFinished }: TestContext,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
  const said = { out: '', err: '' };
  const ended = once(child, 'close').then(([code]): unknown => code);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    said,
    ended,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves as soon as its output matches. Rejects if it exits before. */
    async says(what: RegExp): Promise<void> {
      const over = new AbortController();
      const end = ended.then(() => over.abort());
      while (!what.test(said.out)) {
        if (over.signal.aborted) throw new Error(`it ended without saying ${what}:\n${said.out}${said.err}`);
        await Promise.race([once(child.stdout, 'data'), end]);
      }
    },
  };
}

describe.concurrent('the program without configuration', { timeout: 90_000 }, () => {
  test('plays its tour to the end', async (context) => {
    const { expect } = context;
    const program = startProgram(context, ['--once']);
    expect(await program.ended).toBe(0);
    expect(program.said.err).toBe('');
    expect(program.said.out).toMatch(/\nAll 7 steps went as expected, in \d+\.\d s\.\n$/);
    // If this fails, make a new recording for the README: `npm run docs -- recording`.
    expect(recordedSteps()).toEqual(stepsOf(program.said.out.split('\n')));
  });

  test('exits with an error if it cannot store its kubeconfig', async (context) => {
    const { expect } = context;
    const program = startProgram(context, ['--once'], { TMPDIR: '/nowhere' });
    expect(await program.ended).toBe(1);
    expect(program.said.err).toMatch(
      /^error: The temporary directory \/nowhere cannot be used: ENOENT: .*\n$/,
    );
  });

  test('reports the step of its tour when it is interrupted, and fails', async (context) => {
    const { expect } = context;
    const program = startProgram(context, ['--once']);
    await program.says(/observed: after/);
    program.kill('SIGINT');
    expect(await program.ended).toBe(1);
    expect(program.said.err).toMatch(/^error: step 2 of 7, failover: ended by SIGINT\n$/);
  });

  test('elects a leader and runs until it is told to stop, and leaves no files behind', async (context) => {
    const { expect } = context;
    // Any cluster in it is left alone.
    const program = startProgram(context, [], { KUBECONFIG: '/somewhere/kubeconfig' });
    await program.says(/^\d\d:\d\d:\d\d\.\d{3}Z coordinator LeaseMissing: sample-3 leads under /m);
    const [, kubeconfig = ''] = /kubectl --kubeconfig (\S+) get/.exec(program.said.out) ?? [];
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    await program.says(/Z sample-3 leads\n/);
    const [, page = ''] = /Watch it in a browser: (\S+)\n/.exec(program.said.out) ?? [];
    const answer = await fetch(page);
    expect({ status: answer.status, title: /<title>(.*)<\/title>/.exec(await answer.text())?.[1] }).toEqual({
      status: 200,
      title: 'Leader elections',
    });
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.said.err).toBe('');
    expect(existsSync(kubeconfig)).toBe(false);
  });
});
