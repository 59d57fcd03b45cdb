import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startEmbeddedSite } from '../embedded/embedded-site.ts';

test('examples/participate.ts leads, does its work and leaves, on a server with a coordinator', async () => {
  const site = await startEmbeddedSite();
  onTestFinished(() => site.stop());
  const folder = await mkdtemp(join(tmpdir(), 'participate-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, site.cluster.kubeConfigOf('admin').exportConfig());
  vi.stubEnv('KUBECONFIG', kubeconfig);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => {
    log.mockRestore();
  });
  await import('../../examples/participate.ts');
  expect(log.mock.calls.map(([line]) => line)).toEqual([
    'leads checkout, under the number 0',
    'order 1 is shipped by leader 0',
    'order 2 is shipped by leader 0',
    'order 3 is shipped by leader 0',
    'has nothing more to do',
    'has released the Lease, and left',
  ]);
});

test('docs/participants.md shows the example as it is', async () => {
  const [page, example] = await Promise.all(
    ['docs/participants.md', 'examples/participate.ts'].map((path) =>
      readFile(join(import.meta.dirname, '../..', path), 'utf8'),
    ),
  );
  expect(page).toContain(`\`\`\`ts\n${example}\`\`\`\n`);
});
