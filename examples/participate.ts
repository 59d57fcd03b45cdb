// One of many copies of a program does the work; the others stand by. Run it with: node participate.ts
import { setTimeout as sleep } from 'node:timers/promises';
import { participate } from 'coordinated-leader-election';

const { POD_NAME: name, POD_UID: uid } = process.env;
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

await participate(
  {
    lease: 'checkout',
    binaryVersion: '1.4.2',
    signal: stopping.signal,
    ...(name && uid && { pod: { name, uid } }),
  },
  async (term) => {
    console.log(`leads ${term.lease.name}, under the number ${term.fencingToken}`);
    for (let order = 1; order <= 3 && !term.signal.aborted; order++) await ship(order, term.fencingToken);
    console.log('has nothing more to do');
  },
);
console.log('has released the Lease, and left');

/** A store that keeps the greatest number it has seen can refuse a leader of before that wakes up late. */
async function ship(order: number, fencingToken: number): Promise<void> {
  await sleep(10);
  console.log(`order ${order} is shipped by leader ${fencingToken}`);
}
