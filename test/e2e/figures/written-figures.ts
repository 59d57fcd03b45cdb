import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { Figures } from './figures.ts';
import { toMarkdown } from './table.ts';

const introduction = `# Figures

This controller beside the one built into kube-apiserver 1.36.3, measured one after the other in one run, each on a fresh
etcd and kube-apiserver. Candidates are client-go's own, with its default timing: a 15 s lease renewed every 2 s, and a
deadline of 10 s. Times are taken by a watch beside the coordinator; an expiry is the last renewTime plus
leaseDurationSeconds as the Lease has it. API calls are those that the API server's audit log has of the coordinator, from
the cause of the elections until the last one is over. "never" is longer than 90 s.
`;

/** Writes docs/figures.md. */
export async function writeFigures(contenders: readonly Figures[]): Promise<void> {
  const machine = `Measured with ${cpus().length} CPUs for everything together: servers, coordinator and candidates.`;
  const text = `${introduction}\n${machine}\n\n${toMarkdown(contenders)}\n`;
  await writeFile(new URL('../../../docs/figures.md', import.meta.url), text);
}
