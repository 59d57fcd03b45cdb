import { coordinatorLease } from '../control-plane/cluster-objects.ts';
import { type AuditedRequest, isWrite } from './audit-log.ts';

/** A period in which a process held the coordinators' lock, with its writes for elections in that time. */
export interface CoordinatorTurn {
  /** As in {@link AuditedRequest}. */
  readonly client: string;
  /** Its identity in the lock. */
  readonly identity: string;
  /** When the claim was answered, in milliseconds since the Unix epoch. */
  readonly from: number;
  /** When it released the lock, or when another process claimed it; Infinity while it holds the lock. */
  readonly until: number;
  readonly wasReleased: boolean;
  /** Every attempted write, allowed or not, from its claim until its next claim. */
  readonly writes: readonly AuditedRequest[];
}

/** The name of the controller built into kube-apiserver, whatever its identity in the lock. */
export const builtIn = 'system:apiserver';

/**
 * Converts an audit log to the coordinators' turns. Every process that ever held the lock is a coordinator; `early`
 * contains its writes before its first turn.
 */
export function coordinatorTurns(requests: readonly AuditedRequest[]): {
  readonly turns: readonly CoordinatorTurn[];
  readonly early: readonly AuditedRequest[];
} {
  type Open = { -readonly [K in keyof CoordinatorTurn]: CoordinatorTurn[K] } & { writes: AuditedRequest[] };
  const turns: Open[] = [];
  for (const request of requests.filter(isGrantedLockWrite)) {
    const identity = String(request.body?.spec?.['holderIdentity'] ?? '');
    const last = turns.at(-1);
    if (last?.until === Number.POSITIVE_INFINITY) {
      if (last.identity === identity) continue;
      last.until = request.answeredAt;
      last.wasReleased = identity === '';
    }
    if (identity === '') continue;
    const { client, answeredAt: from } = request;
    turns.push({ client, identity, from, until: Number.POSITIVE_INFINITY, wasReleased: false, writes: [] });
  }
  const coordinators = new Set(turns.map(({ client }) => client));
  const early: AuditedRequest[] = [];
  for (const write of requests.filter(isElectionWrite)) {
    if (!coordinators.has(write.client)) continue;
    const turn = turns.findLast(({ client, from }) => client === write.client && from <= write.answeredAt);
    (turn?.writes ?? early).push(write);
  }
  return { turns, early };
}

/** The writes that a coordinator attempted after its turn. */
export function lateWrites({ writes, until }: CoordinatorTurn): readonly AuditedRequest[] {
  return writes.filter(({ receivedAt }) => receivedAt > until);
}

/** Pairs of turns, the earlier one first, that both wrote at the same time. There must be none. */
export function overlaps(turns: readonly CoordinatorTurn[]): (readonly [string, string])[] {
  const written = turns.filter(({ writes }) => writes.length > 0);
  return written.slice(1).flatMap((turn, index) => {
    const lastBefore = Math.max(
      ...written.slice(0, index + 1).flatMap(({ writes }) => writes.map(({ receivedAt }) => receivedAt)),
    );
    const first = Math.min(...turn.writes.map(({ receivedAt }) => receivedAt));
    return first <= lastBefore ? [[written[index]?.identity ?? '', turn.identity] as const] : [];
  });
}

function isGrantedLockWrite(request: AuditedRequest): boolean {
  return isWrite(request) && isLock(request) && request.status < 300;
}

function isElectionWrite(request: AuditedRequest): boolean {
  if (!isWrite(request) || isLock(request)) return false;
  // Every API server renews its own Lease, which has no candidates.
  return request.resource === 'leasecandidates' || !request.name.startsWith('apiserver-');
}

function isLock({ resource, namespace, name }: AuditedRequest): boolean {
  return resource === 'leases' && namespace === coordinatorLease.namespace && name === coordinatorLease.name;
}
