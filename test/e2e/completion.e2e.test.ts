import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binary } from '../control-plane/binaries.ts';
import { blocksIn } from '../support/command-blocks.ts';
import { eventually } from './coordinator.ts';

const main = new URL('../../src/main.ts', import.meta.url).pathname;

/** Needs Debian's zsh and fish. */
const shells = [
  {
    shell: 'bash',
    command: 'bash --norc -i',
    setUp: (program: string) => `source <(${program} completion bash)`,
  },
  {
    shell: 'zsh',
    command: 'zsh -f -i',
    setUp: (program: string) => `autoload -Uz compinit; compinit -u -D; source <(${program} completion zsh)`,
  },
  {
    shell: 'fish',
    command: 'fish --no-config -i',
    setUp: (program: string) => `${program} completion fish | source`,
  },
] as const;

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'completion-'));
  await writeFile(join(home, 'settings-of-a-cluster'), '');
  for (const name of ['coordinated-leader-election', 'kubectl-cle']) {
    // By the name of what it runs the program knows what it is.
    const link = join(home, `program-${name}`, name);
    await writeFile(join(home, name), `#!/bin/sh\nexec '${process.execPath}' '${link}' "$@"\n`, {
      mode: 0o755,
    });
    await mkdir(dirname(link));
    await symlink(main, link);
  }
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Types into a shell in a terminal, and returns what that shows in the end. */
async function typed(command: string, setUp: string, keys: string, shows: string): Promise<string> {
  const terminal = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    cwd: home,
    env: { HOME: home, PATH: `${home}:/usr/bin:/bin`, TERM: 'dumb' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const end = () => terminal.kill('SIGKILL');
  process.once('exit', end);
  let screen = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const until = (text: string) =>
    eventually(
      () => stripVTControlCharacters(screen).includes(text) || undefined,
      `${text} in:\n${screen}`,
      20_000,
    );
  try {
    // What the shell prints, and not what was typed, says that it is done.
    terminal.stdin.write(`stty cols 240; ${setUp}; echo set"-"up\n`);
    await until('set-up');
    terminal.stdin.write(keys);
    await until(shows).catch(() => {});
    return stripVTControlCharacters(screen);
  } finally {
    process.off('exit', end);
    end();
  }
}

describe.each(shells)('completion in $shell', ({ command, setUp }) => {
  test.each(['coordinated-leader-election', 'kubectl-cle'])(
    'completes commands and options of %s',
    async (program) => {
      const usage = program === 'kubectl-cle' ? 'Usage: kubectl cle status' : `Usage: ${program} status`;
      const screen = await typed(command, setUp(program), `${program} stat\t--all-na\t--help\n`, usage);
      expect(screen).toContain(usage);
      expect(screen).toContain('--all-namespaces');
    },
  );

  test('offers no names of files where none would do', async () => {
    const program = 'coordinated-leader-election';
    const keys = `${program} status -n ./settings-\t_\n`;
    const refusal = '"./settings-_" is not the name of a namespace';
    expect(await typed(command, setUp(program), keys, refusal)).toContain(refusal);
  });

  test('completes the names of files where an option takes one', async () => {
    const program = 'coordinated-leader-election';
    const keys = `${program} status --kubeconfig ./settings-\t`;
    const screen = await typed(command, setUp(program), keys, 'settings-of-a-cluster');
    expect(screen).toContain('settings-of-a-cluster');
  });
});

test("is kubectl's own completion for kubectl cle, by the program that docs/reference/cli.md shows", async () => {
  const guide = await readFile(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
  const shown = blocksIn(guide).filter(({ text }) => text.includes('exec kubectl-cle __complete'));
  expect(shown).toHaveLength(1);
  await writeFile(join(home, 'kubectl_complete-cle'), `${shown[0]?.text}\n`, { mode: 0o755 });
  const env = { HOME: home, PATH: `${home}:/usr/bin:/bin` };
  const { stdout } = await promisify(execFile)(
    await binary('kubectl@1.36.3'),
    ['__complete', 'cle', 'stat'],
    { env },
  );
  expect(stdout).toContain('status\t');
});
