import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lead-calls-'));
  const lead = join(root, 'examples/java/src/main/java/com/example/Lead.java');
  await run('javac', ['-d', folder, lead, join(root, 'test/e2e/LeadCalls.java')]);
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a sidecar that lets each program lead, and never tells it to stop. */
async function startFakeSidecar() {
  const openMs: number[] = [];
  const server = createServer((_request, response) => {
    const startedAt = performance.now();
    const line = { leading: true, fencingToken: 7, validUntilMs: 5000 };
    response.write(`event: change\ndata: ${JSON.stringify(line)}\n\n`);
    response.on('close', () => openMs.push(performance.now() - startedAt));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, openMs };
}

describe('run() of examples/java/src/main/java/com/example/Lead.java', () => {
  test.each([
    { name: 'calls stop, and then throws what start has thrown', does: 'fail', want: 'UncheckedIOException' },
    {
      name: 'keeps the connection until stop has ended if its thread is interrupted',
      does: 'interrupt',
      want: 'InterruptedException',
    },
  ])('$name', async ({ does, want }) => {
    const { address, openMs } = await startFakeSidecar();
    const { stdout } = await run('java', ['-cp', folder, 'LeadCalls', address, does], { timeout: 20_000 });
    expect(stdout).toBe(`stops\nhas stopped\n${want}\n`);
    // `stop` takes 500 ms.
    await expect
      .poll(() => openMs, { timeout: 20_000 })
      .toEqual([expect.toSatisfy((ms: number) => ms >= 500 + (does === 'fail' ? 0 : 300))]);
  });
});
