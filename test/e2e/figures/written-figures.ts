import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { Figures } from './figures.ts';
import { toMarkdown } from './table.ts';

const introduction = `# Figures

This controller beside the one built into kube-apiserver 1.36.3, measured one after the other in one run, each on a fresh
etcd and kube-apiserver: by \`CLE_WRITE_FIGURES=1 npm run bench:figures\`, which writes this file, and at a smaller scale by
[\`test/e2e/figures.e2e.test.ts\`](../test/e2e/figures.e2e.test.ts), which fails where ours has to be ahead and is not.
Times are taken by a watch beside the coordinator; an expiry is the last renewTime plus leaseDurationSeconds as the Lease
has it. API calls are those that the API server's audit log has of the coordinator, from the cause of the elections until
the last one is over. "never" is longer than 90 s.

**First elections, first starts and hand-overs** have client-go's own candidates, with the timing of Kubernetes'
components: a 15 s lease renewed every 2 s, and a deadline of 10 s. At a first start the candidates of each Lease arrive
at random times within two seconds, in random order, but the best one is never the first. It is measured from the creation
of the Lease's first candidate until the elector of the best one starts to lead. client-go looks at the Lease every 2 to
4.4 s, and leads at the first look after it was granted the Lease: no coordinator can be faster than that. Writes are
those to the Lease itself that the server took; "told to yield" is a preferredHolder that was set.

**Mass deaths and the crowded Lease** need more candidates than a small machine could run of client-go's. All of them are
played by one process with one watch: they answer each ping at once, look at a Lease that they were granted when client-go
would, and write what client-go writes. In a mass death the holder of each Lease, its best candidate, crashes at a random
time within ten seconds, and the others live on. Holders that renew late, every 10 s of 15, look as if they were dead
before each of their renewals. In the last scenario holders release their Leases and exit, within six seconds: first by
themselves, then while another Lease gets thousands of candidates that never answer. Memory and CPU are those of the
process that the coordinator runs in: for the built-in one that is kube-apiserver, with all else that it does, so compare
the two rows of one column rather than the two columns.
`;

/** Writes docs/figures.md. */
export async function writeFigures(contenders: readonly Figures[]): Promise<void> {
  const machine = `Measured with ${cpus().length} CPUs for everything together: servers, coordinator and candidates.`;
  const text = `${introduction}\n${machine}\n\n${toMarkdown(contenders)}\n`;
  await writeFile(new URL('../../../docs/figures.md', import.meta.url), text);
}
