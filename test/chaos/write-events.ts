import type { CandidateState, HistoryEvent, LeaseState, Moment } from '../invariants/history.ts';
import { preferenceIn } from '../invariants/preference-in.ts';
import type { StoredObject } from './etcd-recorder.ts';
import type { FaultKind } from './fault-plan.ts';
import type { Journaled } from './journal.ts';
import type { PlacedWrite } from './written-by.ts';

/** A sender may have given up a write that took longer than this in the API server; a coordinator waits for 4 s. */
const HUNG_MS = 3_500;
/** Delayed data is executed within this time after its path is free again. */
const DELIVERED_WITHIN_MS = 2_000;

/**
 * The time of a write is known only within bounds. For a write of a candidate or an unrelated client, the earliest
 * time counts: the renewal is certainly valid from then. For a coordinator's write, the latest time counts: until
 * then it certainly left the Lease to its leader. So the checks report no false violation, and miss one within the
 * bounds: milliseconds, unless a server hung. The order always is etcd's.
 */
export function writeEvents(writes: readonly PlacedWrite[], journal: readonly Journaled[]): HistoryEvent[] {
  const wasHeldUp = holdUps(journal);
  const objects = new Map<string, { readonly object: StoredObject; readonly revision: number }>();
  let last = Number.NEGATIVE_INFINITY;
  return writes.map((write) => {
    const { resource, key, revision, object, writer, from, to } = write;
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
      ...(isCoordinator && wasHeldUp(write, at) ? { isLate: true } : {}),
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
    ...preferenceIn({ metadata, spec }),
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

/** A time in which requests to a server or of a client were delayed. */
interface HoldUp {
  readonly fault: FaultKind;
  readonly owner: string;
  readonly from: Moment;
  to: Moment;
}

/**
 * Whether a coordinator's write may have been delayed for so long that its sender gave it up. The send time is
 * unknown. But the duration since its receipt is known, and the journal shows whether it can have waited before: in
 * the coordinator's link, or for a suspended API server.
 */
function holdUps(journal: readonly Journaled[]): (write: PlacedWrite, at: Moment) => boolean {
  const spans: HoldUp[] = [];
  for (const entry of journal) {
    if (entry.kind !== 'fault' && entry.kind !== 'faultOver') continue;
    const { fault, victim: owner, at } = entry;
    if (fault !== 'API server frozen' && !fault.startsWith('coordinator link')) continue;
    if (entry.kind === 'fault') spans.push({ fault, owner, from: at, to: Number.POSITIVE_INFINITY });
    else {
      const open = spans.find((span) => span.fault === fault && span.owner === owner && span.to > at);
      if (open) open.to = at + DELIVERED_WITHIN_MS;
    }
  }
  return ({ writer, receipt }, at) =>
    receipt === undefined ||
    at - receipt.at > HUNG_MS ||
    spans.some(
      ({ owner, from, to }) => [writer.name, receipt.server].includes(owner) && from <= at && at <= to,
    );
}
