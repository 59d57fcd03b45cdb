import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { runParticipant } from '../../src/processes/participant/participant-process.ts';
import { participateSettings } from '../../src/settings/participate-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { type EmbeddedSite, startEmbeddedSite } from '../embedded/embedded-site.ts';
import { blocksIn } from '../support/command-blocks.ts';
import { SimHost } from '../support/make-host.ts';
import { eventually } from './coordinator.ts';

const timeout = 60_000;
const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

interface GuideProgram {
  readonly language: string;
  /** Writes the program into a folder, asking at `address`. Resolves to its command. */
  readonly prepare: (folder: string, address: string) => Promise<readonly string[]> | readonly string[];
  /** How long the kernel may take to close its connection when it is killed, in milliseconds: curl notices only by its next line. */
  readonly closesWithinMs: number;
}

/** Writes the block of one language in the chapter about leading by a connection. Returns the file. */
function writeBlock(language: string, file: string, address: string): string {
  const guide = readFileSync(join(root, 'docs/participants.md'), 'utf8');
  const block = blocksIn(guide).find(
    (one) => one.language === language && one.heading.endsWith('> Lead by a connection'),
  );
  expect(block?.text).toContain('127.0.0.1:4040');
  writeFileSync(file, block?.text.replace('127.0.0.1:4040', address) ?? '');
  return file;
}

const programs: readonly GuideProgram[] = [
  {
    language: 'Python',
    prepare: () => ['python3', join(root, 'examples/python/worker.py')],
    closesWithinMs: 2000,
  },
  {
    language: 'Java',
    prepare: (folder, address) => ['java', writeBlock('java', join(folder, 'Worker.java'), address)],
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

let site: EmbeddedSite;
let folder: string;

beforeAll(async () => {
  site = await startEmbeddedSite({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  folder = mkdtempSync(join(tmpdir(), 'lead-guide-'));
  const { url: server, adminToken: token, caFile } = site.cluster;
  writeFileSync(
    join(folder, 'kubeconfig'),
    kubeconfigText({ server, ca: readFileSync(caFile, 'utf8'), token }),
  );
}, timeout);
afterAll(async () => {
  await site.stop();
  rmSync(folder, { recursive: true });
});

/** Starts a sidecar in this process. Resolves to its address. */
async function startSidecar(lease: string): Promise<{ readonly host: SimHost; readonly address: string }> {
  const host = new SimHost();
  const kubeconfig = join(folder, 'kubeconfig');
  const flags = { kubeconfig, identity: lease, listen: '127.0.0.1:0', leadByConnection: 'true' };
  const ended = runParticipant(lease, [], resolveSettings(participateSettings, flags, {}), host);
  onTestFinished(async () => {
    host.stop();
    await ended;
  });
  const port = await eventually(() => /"listen":\{[^}]*"port":(\d+)/.exec(host.said.out)?.[1], 'it listens');
  return { host, address: `127.0.0.1:${port}` };
}

/** The programs print each piece of work, or append it to a ledger. */
function startProgram([command = '', ...args]: readonly string[], ledger: string, address: string) {
  const child: ChildProcess = spawn(command, args, {
    cwd: folder,
    env: {
      ...process.env,
      LEDGER: ledger,
      SIDECAR: address,
      POD_NAME: 'pod',
      HTTP_PROXY: 'http://127.0.0.1:9',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout?.on('data', (text) => {
    printed += String(text);
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    /** The token of each piece of work. */
    work: (): readonly number[] => {
      const written = existsSync(ledger) ? readFileSync(ledger, 'utf8') : '';
      return [...`${written}${printed}`.matchAll(/^(?:works under the token )?(\d+)(?: pod .*)?$/gm)].map(
        ([, token]) => Number(token),
      );
    },
  };
}

describe('the programs of docs/participants.md that lead by a connection (rule 18)', {
  timeout: 4 * timeout,
}, () => {
  test.each(programs)('in $language', async ({ language, prepare, closesWithinMs }) => {
    const lease = `guide-${language.toLowerCase()}`;
    const { address } = await startSidecar(lease);
    const command = await prepare(folder, address);
    const { child, work } = startProgram(command, join(folder, `${lease}.ledger`), address);
    const holders = () =>
      site.leases.history('default', lease).map(({ object }) => object.spec.holderIdentity ?? '');

    // It works once its pod leads.
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
