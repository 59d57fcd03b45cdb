import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { coordinatorLease } from '../control-plane/cluster-objects.ts';
import type { CandidateState, HistoryEvent, LeaseState, Moment } from '../invariants/history.ts';
import { type AuditedWrite, auditLogName, readAuditLog } from './audited-writes.ts';
import { API_SERVERS, keyOf, testedLeases } from './cast.ts';
import { type StoredObject, type StoredWrite, writesName } from './etcd-recorder.ts';
import { type Journaled, journalName } from './journal.ts';
import { attribute, builtInOf, type CandidateLife, type PlacedWrite, type Statement } from './written-by.ts';

/** Everything that was recorded of a run, each in the order of time, and by the machine's monotonic clock. */
export interface RunHistory {
  readonly journal: readonly Journaled[];
  readonly events: readonly HistoryEvent[];
  /** Writes of which nobody knows who sent them, as their API server did not live to say so. */
  readonly unattributed: number;
}

/** How long after the sending of its last renewal that succeeded a coordinator of ours may act: its renew deadline. */
const OURS_ACT_FOR_MS = 10_000;
/** The built-in one may think that its lock is valid for as long as it lasts. */
const BUILT_IN_ACTS_FOR_MS = 15_000;
/** No coordinator waits longer for an answer to a write. */
const GIVEN_UP_AFTER_MS = 4_000;
/** What was held up is carried out within this time after its way is free again. */
const DELIVERED_WITHIN_MS = 2_000;

/** Reads the record of a run. */
export async function readRunHistory(directory: string): Promise<RunHistory> {
  const journal = jsonLines<Journaled>(await readFile(join(directory, journalName), 'utf8'));
  const toMonotonic = clockOf(journal);
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
  const { writes, unattributed } = attribute(stored, audited, lives);
  const tested = new Set(testedLeases.map(keyOf));
  const namespaces = new Set(testedLeases.map(({ namespace }) => namespace));
  const ofElections = writes.filter(({ resource, key }) =>
    resource === 'leases' ? tested.has(key) : namespaces.has(key.split('/')[0] ?? ''),
  );
  const ofTheLock = writes.filter(
    ({ resource, key }) => resource === 'leases' && key === keyOf(coordinatorLease),
  );
  const events = [
    ...writeEvents(ofElections, holdUps(journal)),
    ...lives.flatMap(beliefsOf),
    ...deaths(journal),
    ...(await coordinations(directory, journal, ofTheLock, toMonotonic)),
  ];
  return { journal, events: events.toSorted((a, b) => a.at - b.at), unattributed };
}

function jsonLines<T>(text: string): T[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as T];
    } catch {
      // The last line of who was killed.
      return [];
    }
  });
}

/** The wall clock may be slewed or set during a run: what counts is the sample next to a time. */
function clockOf(journal: readonly Journaled[]): (wallMs: number) => Moment {
  const samples = journal.flatMap((entry) => (entry.kind === 'clock' ? [entry] : []));
  return (wallMs) => {
    let low = 0;
    for (let high = samples.length - 1; low < high; ) {
      const middle = Math.ceil((low + high) / 2);
      if ((samples[middle]?.wallMs ?? 0) <= wallMs) low = middle;
      else high = middle - 1;
    }
    const sample = samples[low];
    if (sample === undefined) throw new Error('the journal has no sample of the clock');
    return wallMs - sample.wallMs + sample.at;
  };
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

/**
 * When a write was carried out is known only within bounds. Of a candidate's, or anybody's who takes part in nothing, the
 * earliest moment counts: from then on at the latest a renewal lasts. Of a coordinator's the latest: until then at the
 * least it left a Lease to its leader. So nothing is reported that may have been all right; what goes wrong by less than
 * the bounds are apart, which is milliseconds but where a server hung, is missed. The order is etcd's own in any case.
 */
function writeEvents(
  writes: readonly PlacedWrite[],
  isHeldUp: (writer: string, at: Moment) => boolean,
): HistoryEvent[] {
  const objects = new Map<string, { readonly object: StoredObject; readonly revision: number }>();
  let last = Number.NEGATIVE_INFINITY;
  return writes.map(({ resource, key, revision, object, writer, from, to }) => {
    const isCoordinator = writer.kind === 'coordinator' || writer.kind === 'builtIn';
    const at = Math.max(last, isCoordinator ? to : from);
    last = at;
    const id = `${resource} ${key}`;
    const former = objects.get(id);
    if (object) objects.set(id, { object, revision });
    else objects.delete(id);
    const common = {
      at,
      writer,
      key,
      ...(isCoordinator && isHeldUp(writer.name, at) ? { isLate: true } : {}),
    };
    const [before, after] = [former, object && { object, revision }];
    return resource === 'leases'
      ? { kind: 'lease', ...common, before: before && leaseState(before), after: after && leaseState(after) }
      : {
          kind: 'candidate',
          ...common,
          before: before && candidateState(before),
          after: after && candidateState(after),
        };
  });
}

interface StoredVersion {
  readonly object: StoredObject;
  readonly revision: number;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function leaseState({ object: { metadata, spec }, revision }: StoredVersion): LeaseState {
  const seconds = spec['leaseDurationSeconds'];
  return {
    uid: metadata.uid,
    resourceVersion: String(revision),
    holder: text(spec['holderIdentity']) ?? '',
    renewTime: text(spec['renewTime']),
    durationMs: typeof seconds === 'number' ? 1000 * seconds : undefined,
    transitions: Number(spec['leaseTransitions'] ?? 0),
    preferredHolder: text(spec['preferredHolder']),
    strategy: text(spec['strategy']),
  };
}

function candidateState({ object: { metadata, spec }, revision }: StoredVersion): CandidateState {
  return {
    uid: metadata.uid,
    resourceVersion: String(revision),
    leaseName: text(spec['leaseName']) ?? '',
    renewTime: text(spec['renewTime']),
    pingTime: text(spec['pingTime']),
  };
}

/**
 * Whether a coordinator's write of that moment may have been held up for so long that its sender had given it up: nothing
 * says when a request was sent, but the journal says when something on its way stood still for that long.
 */
function holdUps(journal: readonly Journaled[]): (writer: string, at: Moment) => boolean {
  const spans: { readonly owner: string | undefined; readonly from: Moment; to: Moment }[] = [];
  for (const entry of journal) {
    if (entry.kind !== 'fault' && entry.kind !== 'faultOver') continue;
    const { fault, victim, at } = entry;
    const isOfClient = fault.startsWith('coordinator link');
    if (!isOfClient && !/^(API server|etcd) (frozen|link|compacted)/.test(fault)) continue;
    const owner = isOfClient ? victim : undefined;
    if (entry.kind === 'fault')
      spans.push({ owner, from: at + GIVEN_UP_AFTER_MS, to: Number.POSITIVE_INFINITY });
    else {
      const span = spans.findLast((each) => each.owner === owner && each.to === Number.POSITIVE_INFINITY);
      if (span) span.to = at + DELIVERED_WITHIN_MS;
    }
  }
  return (writer, at) =>
    spans.some(({ owner, from, to }) => (owner ?? writer) === writer && from <= at && at <= to);
}

interface LockLine {
  readonly msg?: string;
  readonly time?: string;
  readonly state?: string;
  readonly holder?: string;
}

/** Who took itself for the cluster's coordinator: ours by their logs, and for as long as the lock as stored allows it. */
async function coordinations(
  directory: string,
  journal: readonly Journaled[],
  lockWrites: readonly PlacedWrite[],
  toMonotonic: (wallMs: number) => Moment,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (const { object, writer, to } of lockWrites) {
    if (writer.kind !== 'builtIn') continue;
    const holder = text(object?.spec['holderIdentity']) ?? '';
    const until = toMonotonic(renewedAt(object)) + BUILT_IN_ACTS_FOR_MS;
    if (holder === '') events.push({ kind: 'standsBy', at: to, who: writer.name });
    else events.push({ kind: 'coordinates', at: to, who: writer.name, until });
  }
  for (const entry of journal) {
    if (entry.kind !== 'started' || entry.role !== 'coordinator') continue;
    const lines = jsonLines<LockLine>(await readFile(join(directory, basename(entry.logFile)), 'utf8'));
    const changes = lines.filter(({ msg }) => msg === 'The coordinator lock changed');
    for (const [index, { time = '', state, holder = '' }] of changes.entries()) {
      // Logs have whole milliseconds, cut off.
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
  const renewTime = text(object?.spec['renewTime']) ?? '';
  const micros = Number(/\.\d{3}(\d{3})/.exec(renewTime)?.[1] ?? 0);
  return Date.parse(renewTime) + micros / 1000;
}
