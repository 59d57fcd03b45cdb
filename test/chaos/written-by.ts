import type { Moment, Writer } from '../invariants/history.ts';
import type { AuditedWrite } from './audited-writes.ts';
import type { StoredWrite } from './etcd-recorder.ts';

/** A write with its sender and the bounds of its time. */
export interface PlacedWrite extends StoredWrite {
  readonly from: Moment;
  readonly to: Moment;
  readonly writer: Writer;
  /** The API server that received it, and when, if this is known. */
  readonly receipt: { readonly server: string; readonly at: Moment } | undefined;
}

/** A line of a candidate's output, with its time in nanoseconds. */
export interface Statement {
  readonly event: 'started' | 'leads' | 'renewed' | 'follows';
  readonly at: number;
  readonly sentAt?: number;
}

/** The output of one process of a candidate, times in milliseconds. */
export interface CandidateLife {
  readonly name: string;
  readonly lease: string;
  readonly leaseDurationMs: number;
  readonly statements: readonly Statement[];
}

/** The senders of all writes, in etcd's order. */
interface Attribution {
  readonly writes: readonly PlacedWrite[];
  /** Writes of unknown senders. */
  readonly unattributed: number;
  /** Writes with contradictory bounds: their record, or that of another write, is wrong. */
  readonly impossible: number;
}

/** The error of wall-clock times that are converted to the monotonic clock. */
const CLOCK_ERROR_MS = 5;

const unknown: Writer = { kind: 'other', name: 'unknown' };

/**
 * Finds the sender and time of each write in the audit logs. A write that succeeded for its client is identified by
 * its resourceVersion. Other writes were executed although their client got an error or no answer: the sender is the
 * only client with a request in flight for the object at that time, if there is only one.
 */
export function attribute(
  stored: readonly StoredWrite[],
  audited: readonly AuditedWrite[],
  lives: readonly CandidateLife[],
): Attribution {
  const byRevision = new Map<string, AuditedWrite>();
  const byKey = Map.groupBy(audited, ({ resource, key }) => `${resource} ${key}`);
  for (const write of audited) {
    if (write.revision === undefined || (write.status ?? 0) >= 300) continue;
    const id = `${write.resource} ${write.key} ${write.revision}`;
    // A request without changes is answered with the version that it found, which belongs to an earlier write.
    const known = byRevision.get(id);
    if (known === undefined || write.receivedAt < known.receivedAt) byRevision.set(id, write);
  }
  const renewals = Map.groupBy(
    lives.flatMap(({ name, lease, statements }) =>
      statements.flatMap(({ event, at, sentAt = 0 }) =>
        event === 'renewed' ? [{ name, lease, at, sentAt }] : [],
      ),
    ),
    ({ name, lease }) => `${lease} ${name}`,
  );
  const used = new Set<AuditedWrite>();
  let unattributed = 0;
  const writes: PlacedWrite[] = stored.map((write) => {
    const { resource, key, revision, seenAt, object } = write;
    const answered = byRevision.get(`${resource} ${key} ${revision}`);
    const exact = answered && answered.receivedAt <= seenAt + CLOCK_ERROR_MS ? answered : undefined;
    const possible = exact
      ? [exact]
      : (byKey.get(`${resource} ${key}`) ?? []).filter((each) => mayBe(each, write) && !used.has(each));
    const writers = new Map(possible.map((each) => [writerOf(each).name, writerOf(each)]));
    const [only] = writers.size === 1 ? writers.values() : [];
    const [first] = possible;
    if (only && first) used.add(first);
    if (!only) unattributed += 1;
    const writer = only ?? unknown;
    let from = only && first ? first.receivedAt : Number.NEGATIVE_INFINITY;
    // A request that was answered with an error may still be executed: etcd had not received it when the server gave
    // up.
    let to = exact?.answeredAt === undefined ? seenAt : Math.min(seenAt, exact.answeredAt);
    // A sender without an answer has reported no renewal: do not match it with a later report.
    if (exact && resource === 'leases' && object?.spec['holderIdentity'] === writer.name) {
      const told = (renewals.get(`${key} ${writer.name}`) ?? []).find(
        ({ at, sentAt }) => sentAt <= to && at >= from,
      );
      if (told) {
        from = Math.max(from, told.sentAt);
        to = Math.min(to, told.at);
      }
    }
    const receipt = only && first && { server: first.server, at: first.receivedAt };
    return { ...write, writer, receipt, from, to: Math.max(from, to) };
  });
  const placed = inEtcdsOrder(writes);
  const impossible = placed.filter(({ from, to }) => from > to + CLOCK_ERROR_MS).length;
  return { writes: placed, unattributed, impossible };
}

/** Writes are executed in order, so each bound also limits all others. */
function inEtcdsOrder(writes: readonly PlacedWrite[]): readonly PlacedWrite[] {
  let from = Number.NEGATIVE_INFINITY;
  const forwards = writes.map((write) => {
    from = Math.max(from, write.from);
    return { ...write, from };
  });
  let to = Number.POSITIVE_INFINITY;
  return forwards
    .toReversed()
    .map((write) => {
      to = Math.min(to, write.to);
      return { ...write, to };
    })
    .toReversed();
}

/** Whether this write can come from a request with an unknown result, or from a deletion. */
function mayBe(
  { isDelete, receivedAt, status, revision }: AuditedWrite,
  { object, seenAt }: StoredWrite,
): boolean {
  if (receivedAt > seenAt || isDelete !== (object === undefined)) return false;
  if (isDelete && status !== undefined && status < 300) return true;
  return revision === undefined && (status === undefined || status >= 500);
}

/** The name of an API server's built-in controller in a history. */
export function builtInOf(server: string): string {
  return `built-in ${server}`;
}

function writerOf({ user, uid, userAgent, server }: AuditedWrite): Writer {
  if (user === 'system:apiserver') return { kind: 'builtIn', name: builtInOf(server) };
  if (user === 'candidate') return { kind: 'candidate', name: userAgent };
  if (uid.startsWith('coordinator-')) return { kind: 'coordinator', name: uid };
  return { kind: 'other', name: user };
}
