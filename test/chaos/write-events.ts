import type { CandidateState, HistoryEvent, LeaseState, Moment } from '../invariants/history.ts';
import { preferenceIn } from '../invariants/preference-in.ts';
import type { StoredObject } from './etcd-recorder.ts';
import type { FaultKind } from './fault-plan.ts';
import type { Journaled } from './journal.ts';
import type { PlacedWrite } from './written-by.ts';

/** A write that took longer than this on the API server's side may have been given up; a coordinator waits for 4 s. */
const HUNG_MS = 3_500;
/** What was held up is carried out within this time after its way is free again. */
const DELIVERED_WITHIN_MS = 2_000;

/**
 * When a write was carried out is known only within bounds. Of a candidate's, or anybody's who takes part in nothing, the
 * earliest moment counts: from then on at the latest a renewal lasts. Of a coordinator's the latest: until then at the
 * least it left a Lease to its leader. So nothing is reported that may have been all right; what goes wrong by less than
 * the bounds are apart, which is milliseconds but where a server hung, is missed. The order is etcd's own in any case.
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

/** A time in which requests to a server, or of a client, stood still. */
interface HoldUp {
  readonly fault: FaultKind;
  readonly owner: string;
  readonly from: Moment;
  to: Moment;
}

/**
 * Whether a coordinator's write may have been held up for so long that its sender had given it up. When it was sent is not
 * known; but how long it took from its receipt on is, and from the journal whether it can have waited before that: in the
 * coordinator's link, or for a frozen API server.
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
