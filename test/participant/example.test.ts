import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startEmbeddedSite } from '../embedded/embedded-site.ts';

test('examples/node/worker.ts leads, works until it is told to stop, and exits', async () => {
  const site = await startEmbeddedSite();
  onTestFinished(() => site.stop());
  const folder = await mkdtemp(join(tmpdir(), 'worker-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [kubeconfig, ledger] = [join(folder, 'kubeconfig'), join(folder, 'ledger')];
  await writeFile(kubeconfig, site.cluster.kubeConfigOf('admin').exportConfig());
  vi.stubEnv('KUBECONFIG', kubeconfig);
  vi.stubEnv('LEDGER', ledger);
  vi.stubEnv('POD_NAME', 'checkout-0');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => {
    log.mockRestore();
  });
  const ended = import('../../examples/node/worker.ts');
  await vi.waitUntil(() => existsSync(ledger), { timeout: 20_000 });
  process.emit('SIGTERM');
  await ended;
  expect(log.mock.calls.map(([line]) => line)).toEqual([
    'leads, with the fencing token 0',
    'leads no longer',
    'has released the Lease, and left',
  ]);
  expect(await readFile(ledger, 'utf8')).toMatch(/^(?:0 checkout-0 \S+Z\n)+$/);
});

test('docs/tutorials/four-programs.md contains examples/python/worker.py', async () => {
  const [page, example] = await Promise.all(
    ['docs/tutorials/four-programs.md', 'examples/python/worker.py'].map((path) =>
      readFile(join(import.meta.dirname, '../..', path), 'utf8'),
    ),
  );
  expect(page).toContain(example);
});
