import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksIn } from '../support/command-blocks.ts';
import { javaExample, openPage } from './adopt-page.ts';
import { eventually } from './coordinator.ts';
import { type GuideSite, startGuideSite } from './guide-site.ts';

const timeout = 60_000;
const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

interface LeadingProgram {
  readonly language: string;
  /** Writes the program into a folder, asking at `address`. Resolves to its command. */
  readonly prepare: (folder: string, address: string) => Promise<readonly string[]> | readonly string[];
  /** How long the kernel may take to close its connection when it is killed, in milliseconds: curl notices only by its next line. */
  readonly closesWithinMs: number;
}

/** Writes the block of one language in the chapter about leading by a connection. Returns the file. */
function writeBlock(language: string, file: string, address: string): string {
  const guide = readFileSync(join(root, 'docs/how-to/sidecar.md'), 'utf8');
  const block = blocksIn(guide).find(
    (one) => one.language === language && one.heading === 'Lead by a connection',
  );
  expect(block?.text).toContain('127.0.0.1:4040');
  writeFileSync(file, block?.text.replace('127.0.0.1:4040', address) ?? '');
  return file;
}

const programs: readonly LeadingProgram[] = [
  {
    language: 'Python',
    prepare: () => ['python3', join(root, 'examples/python/worker.py')],
    closesWithinMs: 2000,
  },
  {
    language: 'Java',
    async prepare() {
      await (await openPage('java', site)).follow('mvn');
      return javaExample('WithSpring');
    },
    closesWithinMs: 2000,
  },
  {
    language: 'Go',
    async prepare(folder, address) {
      const program = join(folder, 'worker');
      await run('go', ['build', '-o', program, writeBlock('go', `${program}.go`, address)]);
      return [program];
    },
    closesWithinMs: 2000,
  },
  {
    language: 'bash',
    prepare: (folder, address) => ['bash', writeBlock('bash', join(folder, 'worker.sh'), address)],
    closesWithinMs: 5000,
  },
];

let site: GuideSite;

beforeAll(async () => {
  site = await startGuideSite();
}, timeout);
afterAll(() => site.stop());

/** Starts a program. It prints each piece of work, or appends it to a ledger. */
function startProgram(command: readonly string[], ledger: string, address: string) {
  const env = { LEDGER: ledger, SIDECAR: address, POD_NAME: 'pod', HTTP_PROXY: 'http://127.0.0.1:9' };
  const { child, lines } = site.startProgram(command, env);
  return {
    child,
    /** The token of each piece of work. */
    work(): readonly number[] {
      const written = existsSync(ledger) ? readFileSync(ledger, 'utf8') : '';
      const all = [...written.split('\n'), ...lines.map(({ text }) => text)];
      return all
        .flatMap((line) => /^(?:works under the token )?(\d+)(?: pod .*)?$/.exec(line)?.[1] ?? [])
        .map(Number);
    },
  };
}

/** Blocks this process, in which the sidecar is, for longer than a line of the sidecar is valid. */
function pauseSidecar(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);
}

describe('the programs of the guides that lead by a connection (rule 18)', {
  timeout: 4 * timeout,
}, () => {
  test.each(programs)('in $language', async ({ language, prepare, closesWithinMs }) => {
    const lease = `guide-${language.toLowerCase()}`;
    const { address } = await site.startSidecar(lease);
    const command = await prepare(site.folder, address);
    const { child, work } = startProgram(command, join(site.folder, `${lease}.ledger`), address);
    const holders = () => site.holders(lease);
    pauseSidecar();

    // It works once its pod leads, although its first request has waited for too long, and was refused.
    await eventually(() => work().length > 2 || undefined, 'it works', timeout);
    const [first = -1] = work();

    // It stops when it is told to, closes its connection, and asks again.
    await fetch(`http://${address}/resign`, { method: 'POST' });
    await eventually(() => holders().includes('') || undefined, 'the Lease is released');
    const atRelease = work().length;
    await eventually(() => work().some((token) => token > first) || undefined, 'it works again', timeout);
    expect(
      work()
        .slice(atRelease)
        .filter((token) => token <= first),
    ).toEqual([]);

    // When it is killed, the Lease is released.
    const released = holders().filter((holder) => holder === '').length;
    await sleep(500);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const killedAt = performance.now();
    await eventually(
      () => holders().filter((holder) => holder === '').length > released || undefined,
      'the Lease is released',
      timeout,
      10,
    );
    expect(performance.now() - killedAt).toBeLessThan(closesWithinMs);
  });
});
