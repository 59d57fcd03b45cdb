import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { startCuttableLink } from '../embedded/cuttable-link.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded/embedded-cluster.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';
const SECRET = 's3cr3t-abcdef-0123456789';

let cluster: EmbeddedCluster;
let directory: string;

beforeAll(async () => {
  cluster = await startEmbeddedCluster();
  directory = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterAll(async () => {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

async function writeKubeconfig(text: string): Promise<string> {
  const file = join(directory, 'kubeconfig');
  await writeFile(file, text);
  return file;
}

/** Runs the program; `said` is its whole output. */
function start(args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: {} });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const output = { said: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output.said += text;
    });
  const ended = once(child, 'close');
  return {
    output,
    ended,
    async untilSaidOrEnded(text: string): Promise<void> {
      const isOver = () => child.exitCode !== null || output.said.includes(text);
      await expect.poll(isOver, { timeout: 20_000 }).toBe(true);
    },
    async end() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The data that the page's stream sends within a moment. */
async function readStream(url: string): Promise<string> {
  const controller = new AbortController();
  const { body } = await fetch(url, { signal: controller.signal });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = (await reader?.read())?.value ?? '';
  controller.abort();
  return first;
}

describe('the token of the coordinator', () => {
  test('is in no log, Event, metric or object, nor on the page, through an election and cut connections', async () => {
    const link = await startCuttableLink(cluster.address.port);
    onTestFinished(() => link.close());
    const config = cluster.kubeConfigOf('coordinator', link.url);
    const token = config.getCurrentUser()?.token ?? '';
    expect(token.length).toBeGreaterThan(20);
    const file = await writeKubeconfig(config.exportConfig());
    const args = ['--log-level', 'debug', '--listen', '127.0.0.1:0', '--status-page', '--lease-metrics'];
    const { output, end } = start(['run', '--kubeconfig', file, ...args]);
    const untilSaid = (text: string) => expect.poll(() => output.said, { timeout: 20_000 }).toContain(text);
    await untilSaid('"state":"active"');
    await cluster.request(
      'POST',
      CANDIDATES,
      makeCandidateObject('a', { renewedAt: Date.now() - Date.UTC(2026, 0, 1) }),
    );
    await untilSaid('Changed a Lease');
    // Every grant of a Lease has an Event.
    const events = () => cluster.request<object>('GET', '/api/v1/namespaces/default/events');
    await expect
      .poll(async () => JSON.stringify(await events()), { timeout: 20_000 })
      .toContain('LeaderElected');
    link.cut();
    await untilSaid('Watching failed');
    const port = /"port":(\d+)/.exec(output.said)?.[1];
    const base = `http://127.0.0.1:${port}`;
    const pages = await Promise.all(
      ['/metrics', '/readyz', '/livez', '/'].map(async (path) => (await fetch(base + path)).text()),
    );
    pages.push(await readStream(`${base}/status/events`));
    const objects = await Promise.all(
      ['/apis/coordination.k8s.io/v1/leases', CANDIDATES].map((path) => cluster.request<object>('GET', path)),
    );
    await end();
    const told = [output.said, ...pages, JSON.stringify([objects, await events()])];
    expect(pages[0]).toContain('cle_events_total');
    expect(pages.at(-1)).toContain('data:');
    for (const text of told) {
      for (const secret of [token, Buffer.from(token).toString('base64')]) {
        // Not the text itself, which would appear in the report.
        expect(text.includes(secret)).toBe(false);
      }
    }
  });
});

describe('a secret in a kubeconfig', () => {
  const config = (server: string, user: string) =>
    [
      `clusters: [{name: c, cluster: {server: "${server}"}}]`,
      'contexts: [{name: x, context: {cluster: c, user: u}}]',
      'current-context: x',
      'users:',
      '- name: u',
      `  user: ${user}`,
    ].join('\n');
  const NOWHERE = 'https://127.0.0.1:1';
  const plugin = (...args: readonly string[]) =>
    JSON.stringify({
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args },
    });

  test.each([
    { name: 'beside a mistake', text: `${config(NOWHERE, `\n    token: ${SECRET}`)}\n   wrong: [` },
    { name: 'that no header can have', text: config(NOWHERE, `{token: "${SECRET}\\nx"}`) },
    { name: 'for a server that is away', text: config(NOWHERE, `{username: me, password: ${SECRET}}`) },
    { name: 'as a key that is none', text: config(NOWHERE, `{client-key-data: ${SECRET}}`) },
    { name: 'in the URL of the server', text: config(`https://me:${SECRET}@127.0.0.1:1`, '{}') },
    { name: 'in a URL that is not for HTTP', text: config(`ftp://me:${SECRET}@127.0.0.1:1`, '{}') },
    { name: 'that a plugin wrote unchanged', text: config(NOWHERE, plugin('-p', `'${SECRET}'`)) },
    { name: 'in an answer without status', text: config(NOWHERE, plugin('-p', `'{"token":"${SECRET}"}'`)) },
  ])('$name is not printed', async ({ text }) => {
    const file = await writeKubeconfig(text);
    const doctor = start(['doctor', '--kubeconfig', file]);
    await doctor.ended;
    const run = start(['run', '--kubeconfig', file, '--listen', 'off', '--log-level', 'debug']);
    await run.untilSaidOrEnded('Watching failed');
    await run.end();
    for (const { said } of [doctor.output, run.output]) {
      expect(said).not.toBe('');
      expect(said.includes(SECRET)).toBe(false);
    }
  });
});
