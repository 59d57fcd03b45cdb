import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HistoryEvent, Moment } from '../invariants/history.ts';
import type { StoredObject } from './etcd-recorder.ts';
import type { Journaled } from './journal.ts';
import { jsonLines } from './json-lines.ts';
import type { PlacedWrite } from './written-by.ts';

/** How long a coordinator of ours may act after it sent its last successful renewal: its renew deadline. */
const OURS_ACT_FOR_MS = 10_000;
/** The built-in coordinator may trust its lock until the lock expires. */
const BUILT_IN_ACTS_FOR_MS = 15_000;

interface LockLine {
  readonly msg?: string;
  readonly time?: string;
  readonly state?: string;
  readonly holder?: string;
}

/** Returns who believed to be the coordinator: ours by their logs, and only as long as the stored lock allows it. */
export async function lockEvents(
  directory: string,
  journal: readonly Journaled[],
  lockWrites: readonly PlacedWrite[],
  toMonotonic: (wallMs: number) => Moment,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (const { object, writer, to } of lockWrites) {
    if (writer.kind !== 'builtIn') continue;
    const holder = object?.spec['holderIdentity'] ?? '';
    const until = toMonotonic(renewedAt(object)) + BUILT_IN_ACTS_FOR_MS;
    if (holder === '') events.push({ kind: 'standsBy', at: to, who: writer.name });
    else events.push({ kind: 'coordinates', at: to, who: writer.name, until });
  }
  for (const entry of journal) {
    if (entry.kind !== 'started' || entry.role !== 'coordinator') continue;
    const lines = jsonLines<LockLine>(await readFile(join(directory, basename(entry.logFile)), 'utf8'));
    const changes = lines.filter(({ msg }) => msg === 'The coordinator lock changed');
    for (const [index, { time = '', state, holder = '' }] of changes.entries()) {
      // Logs have truncated milliseconds.
      const at = toMonotonic(Date.parse(time)) + 1;
      if (state !== 'active') {
        events.push({ kind: 'standsBy', at: at - 1, who: entry.name });
        continue;
      }
      const nextTime = changes[index + 1]?.time;
      const end = nextTime === undefined ? Number.POSITIVE_INFINITY : toMonotonic(Date.parse(nextTime));
      const own = lockWrites.filter(({ object }) => object?.spec['holderIdentity'] === holder);
      const before = own.findLast(({ to }) => to <= at);
      for (const { to, object } of own.filter(
        (write) => write === before || (write.to > at && write.to < end),
      )) {
        const until = toMonotonic(renewedAt(object)) + OURS_ACT_FOR_MS;
        events.push({ kind: 'coordinates', at: Math.max(at, to), who: entry.name, until });
      }
    }
  }
  return events;
}

function renewedAt(object: StoredObject | undefined): number {
  const renewTime = String(object?.spec['renewTime'] ?? '');
  const micros = Number(/\.\d{3}(\d{3})/.exec(renewTime)?.[1] ?? 0);
  return Date.parse(renewTime) + micros / 1000;
}
