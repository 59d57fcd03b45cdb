import type { Moment, Writer } from '../invariants/history.ts';
import type { AuditedWrite } from './audited-writes.ts';
import type { StoredWrite } from './etcd-recorder.ts';

/** A write with the bounds of the moment at which it was carried out, and who did it. */
export interface PlacedWrite extends StoredWrite {
  readonly from: Moment;
  readonly to: Moment;
  readonly writer: Writer;
  /** Which API server received it and when, where one could tell. */
  readonly receipt: { readonly server: string; readonly at: Moment } | undefined;
}

/** What a candidate said. When it said so, in what it writes itself in nanoseconds. */
export interface Statement {
  readonly event: 'started' | 'leads' | 'renewed' | 'follows';
  readonly at: number;
  readonly sentAt?: number;
}

/** What one life of a candidate said, times in milliseconds. */
export interface CandidateLife {
  readonly name: string;
  readonly lease: string;
  readonly leaseDurationMs: number;
  readonly statements: readonly Statement[];
}

/** Who carried out which write, in etcd's order. */
interface Attribution {
  readonly writes: readonly PlacedWrite[];
  /** Writes of which nobody knows who sent them. */
  readonly unattributed: number;
  /** Writes whose bounds contradict each other: what is recorded of them, or of another, is not to be trusted. */
  readonly impossible: number;
}

/** By how much the wall clock's times, put on the monotonic clock, may be wrong. */
const CLOCK_ERROR_MS = 5;

const unknown: Writer = { kind: 'other', name: 'unknown' };

/**
 * Finds who carried out which write, and when, from what the API servers audited. A write that succeeded for its client is
 * known by its resourceVersion. Others were carried out although their client was told of a failure, or nothing at all:
 * who sent them is whoever had a request about the object under way then, if that was only one.
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
    // A request that changes nothing is answered with the version that it found: that is another's, of before.
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
    // A request that was answered with a failure may be carried out yet: etcd had not heard of it when the server gave up.
    let to = exact?.answeredAt === undefined ? seenAt : Math.min(seenAt, exact.answeredAt);
    // Whoever was not answered has told of no renewal: a later one must not be taken for it.
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

/** One write is carried out after the other: each bound says something of all others, too. */
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

/** Whether a request whose outcome its client was not told of, or a deletion, can have been that write. */
function mayBe(
  { isDelete, receivedAt, status, revision }: AuditedWrite,
  { object, seenAt }: StoredWrite,
): boolean {
  if (receivedAt > seenAt || isDelete !== (object === undefined)) return false;
  if (isDelete && status !== undefined && status < 300) return true;
  return revision === undefined && (status === undefined || status >= 500);
}

/** What the controller built into an API server is called in a history. */
export function builtInOf(server: string): string {
  return `built-in ${server}`;
}

function writerOf({ user, uid, userAgent, server }: AuditedWrite): Writer {
  if (user === 'system:apiserver') return { kind: 'builtIn', name: builtInOf(server) };
  if (user === 'candidate') return { kind: 'candidate', name: userAgent };
  if (uid.startsWith('coordinator-')) return { kind: 'coordinator', name: uid };
  return { kind: 'other', name: user };
}
