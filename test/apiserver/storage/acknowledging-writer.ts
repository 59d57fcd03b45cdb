// Writes to the given directory until it is killed, and acknowledges each stored write on stdout.
import { writeSync } from 'node:fs';
import { openSqliteJournal } from '../../../src/apiserver/storage/journal.ts';
import { ObjectStore } from '../../../src/apiserver/storage/object-store.ts';
import { makeObject } from './make-object.ts';

const store = new ObjectStore({ journal: openSqliteJournal(process.argv[2] ?? '') });
for (;;) {
  const next = store.revision + 1;
  const name = `lease-${next % 7}`;
  const isRemoval = next % 3 === 0 && store.get('leases', name) !== undefined;
  const stored = isRemoval
    ? store.remove('leases', name)
    : store.put('leases', makeObject(name, { value: next }));
  writeSync(1, `${JSON.stringify({ isRemoval, stored })}\n`);
}
