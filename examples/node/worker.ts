// One of many copies of this program ships orders; the others stand by. Run it with: node worker.ts
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { participate, type Term } from 'coordinated-leader-election';

const { POD_NAME: name, POD_UID: uid, VERSION = '1.4.2', LEDGER = 'ledger' } = process.env;
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

await participate(
  {
    lease: 'checkout',
    binaryVersion: VERSION,
    strategy: 'coordinated-leader-election.dev/NewestVersion',
    signal: stopping.signal,
    ...(name && uid && { pod: { name, uid } }),
  },
  async (term) => {
    console.log(`leads, with the fencing token ${term.fencingToken}`);
    while (!term.signal.aborted) {
      ship(term);
      await sleep(200, undefined, { signal: term.signal }).catch(() => {});
    }
    console.log('leads no longer');
  },
);
console.log('has released the Lease, and left');

/** Writes a line into a ledger that all copies share. */
function ship(term: Term): void {
  const lines = readFileSync(LEDGER, { encoding: 'utf8', flag: 'a+' }).trim().split('\n');
  const last = Number(lines.at(-1)?.split(' ')[0]);
  // Right before it acts, a leader looks at the time: it may have been paused.
  if (term.remainingMs() < 1000) return;
  // The ledger refuses a leader of before. A database would compare in the same statement as it writes.
  if (last > term.fencingToken)
    throw new Error(`leader ${last} has written after leader ${term.fencingToken}`);
  appendFileSync(LEDGER, `${term.fencingToken} ${name ?? term.holder} ${new Date().toISOString()}\n`);
}
