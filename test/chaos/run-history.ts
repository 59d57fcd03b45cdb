import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { coordinatorLease } from '../control-plane/cluster-objects.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import { type AuditedWrite, auditLogName, readAuditLog } from './audited-writes.ts';
import { API_SERVERS, keyOf, testedLeases } from './cast.ts';
import { type StoredWrite, writesName } from './etcd-recorder.ts';
import { type Journaled, journalName } from './journal.ts';
import { jsonLines } from './json-lines.ts';
import { lockEvents } from './lock-history.ts';
import { machineClock } from './machine-clock.ts';
import { writeEvents } from './write-events.ts';
import { attribute, builtInOf, type CandidateLife, type Statement } from './written-by.ts';

/** The record of a run, in order of time, by the machine's monotonic clock. */
export interface RunHistory {
  readonly journal: readonly Journaled[];
  readonly events: readonly HistoryEvent[];
  /** Writes of unknown senders, because their API server was killed before it could log them. */
  readonly unattributed: number;
  /** Writes whose record contradicts that of others. */
  readonly impossible: number;
}

/** Reads the record of a run. */
export async function readRunHistory(directory: string): Promise<RunHistory> {
  const journal = jsonLines<Journaled>(await readFile(join(directory, journalName), 'utf8'));
  const toMonotonic = machineClock(journal);
  const lives = await candidateLives(directory, journal);
  const audited: AuditedWrite[] = [];
  for (const server of API_SERVERS) {
    for (const write of await readAuditLog(join(directory, auditLogName(server)), server)) {
      const { receivedAt, answeredAt } = write;
      audited.push({
        ...write,
        receivedAt: toMonotonic(receivedAt),
        ...(answeredAt === undefined ? {} : { answeredAt: toMonotonic(answeredAt) }),
      });
    }
  }
  const stored = jsonLines<StoredWrite>(await readFile(join(directory, writesName), 'utf8'));
  const { writes, unattributed, impossible } = attribute(stored, audited, lives);
  const tested = new Set(testedLeases.map(keyOf));
  const namespaces = new Set(testedLeases.map(({ namespace }) => namespace));
  const ofElections = writes.filter(({ resource, key }) =>
    resource === 'leases' ? tested.has(key) : namespaces.has(key.split('/')[0] ?? ''),
  );
  const ofTheLock = writes.filter(
    ({ resource, key }) => resource === 'leases' && key === keyOf(coordinatorLease),
  );
  const events = [
    ...writeEvents(ofElections, journal),
    ...lives.flatMap(beliefsOf),
    ...deaths(journal),
    ...(await lockEvents(directory, journal, ofTheLock, toMonotonic)),
  ];
  return { journal, events: events.toSorted((a, b) => a.at - b.at), unattributed, impossible };
}

async function candidateLives(
  directory: string,
  journal: readonly Journaled[],
): Promise<readonly CandidateLife[]> {
  const lives: CandidateLife[] = [];
  for (const entry of journal) {
    if (entry.kind !== 'started' || entry.role !== 'candidate') continue;
    const { name, logFile, lease = '', leaseDurationMs = 0 } = entry;
    const statements = jsonLines<Statement>(await readFile(join(directory, basename(logFile)), 'utf8'));
    const inMs = statements.map(({ event, at, sentAt = 0 }) => ({
      event,
      at: at / 1e6,
      sentAt: sentAt / 1e6,
    }));
    lives.push({ name, lease, leaseDurationMs, statements: inMs });
  }
  return lives;
}

function beliefsOf({ name: who, lease: key, leaseDurationMs, statements }: CandidateLife): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  let leads = false;
  for (const { event, at, sentAt = 0 } of statements) {
    if (event === 'leads') leads = true;
    if (event === 'follows') {
      leads = false;
      events.push({ kind: 'follows', at, who, key });
    } else if (leads) {
      events.push({ kind: 'leads', at, who, key, until: sentAt + leaseDurationMs });
    }
  }
  return events;
}

function deaths(journal: readonly Journaled[]): HistoryEvent[] {
  const leases = new Map(
    journal.flatMap((entry) => (entry.kind === 'started' ? [[entry.name, entry.lease ?? '']] : [])),
  );
  return journal.flatMap((entry): HistoryEvent[] => {
    if (entry.kind !== 'ended') return [];
    const { at, role, name } = entry;
    if (role === 'candidate') return [{ kind: 'follows', at, who: name, key: leases.get(name) ?? '' }];
    if (role === 'coordinator') return [{ kind: 'standsBy', at, who: name }];
    if (role === 'apiServer') return [{ kind: 'standsBy', at, who: builtInOf(name) }];
    return [];
  });
}
