import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ProcessGroup, spawnHeld } from '../../../src/processes/participant/process-group.ts';

const MODULE = new URL('../../../src/processes/participant/process-group.ts', import.meta.url);

const env = { PATH: process.env['PATH'] };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'held-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('a command that is held', () => {
  test('does not run before it is released, and keeps its arguments and its process', async () => {
    const file = join(folder, 'a b');
    const { child, release } = spawnHeld(['/bin/sh', '-c', 'echo $$ > "$0"', file], env);
    await sleep(300);
    expect(existsSync(file)).toBe(false);
    release();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(existsSync(file)).toBe(true);
  });

  test('never runs if the process that holds it is killed first', async () => {
    const file = join(folder, 'written');
    const code = `import { spawnHeld } from '${MODULE}';
      spawnHeld(['/bin/sh', '-c', 'touch ${file}'], process.env);
      process.kill(process.pid, 'SIGKILL');`;
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'ignore' });
    expect(await once(holder, 'exit')).toEqual([null, 'SIGKILL']);
    await sleep(500);
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    { name: 'does not exist', command: ['no-such-command-here'], code: 'ENOENT' },
    { name: 'is a path that does not exist', command: ['/none/such'], code: 'ENOENT' },
  ])('is refused with the system’s error code if it $name', ({ command, code }) => {
    expect(() => spawnHeld(command, env)).toThrow(expect.objectContaining({ code }));
  });

  test('that cannot start because no descriptor is free tells it by an error event', async () => {
    const code = `import { openSync } from 'node:fs';
      import { spawnHeld } from '${MODULE}';
      try { for (;;) openSync('/dev/null'); } catch {}
      const { child, release } = spawnHeld(['true'], process.env);
      child.on('error', ({ code }) => process.exit(code === 'EMFILE' ? 7 : 1));
      release();`;
    const limited = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"';
    const holder = spawn('/bin/sh', ['-c', limited, process.execPath, code], { stdio: 'ignore' });
    expect(await once(holder, 'exit')).toEqual([7, null]);
  });

  test('is refused if it may not be executed', () => {
    const file = join(folder, 'script');
    writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 });
    expect(() => spawnHeld([file], env)).toThrow(expect.objectContaining({ code: 'EACCES' }));
  });
});

describe('the process group of a command', () => {
  test('is not gone while the kernel has it, although /proc shows none of its processes (hidepid)', () => {
    const hidden = 2 ** 30;
    expect(new ProcessGroup(hidden, { kill: () => {} }).isGone()).toBe(false);
  });
});
