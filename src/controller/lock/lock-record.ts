import { FIELD_MANAGER, isOwned } from '../../coordination/lease.ts';
import type { LeaseKey } from '../../coordination/lease-key.ts';
import { formatMicroTime } from '../../coordination/micro-time.ts';
import { specOf, textField } from '../../coordination/raw-object.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';

/** What every identity of this program's replicas begins with; any other is taken for the built-in controller's. */
export const IDENTITY_PREFIX = 'coordinated-leader-election_';

const RELEASED = { holder: '', leaseDurationMs: 1000 };

/** The identity of one replica; `uuid` tells it from an earlier run on the same host. */
export function replicaIdentity(hostname: string, uuid: string): string {
  return `${IDENTITY_PREFIX}${hostname}_${uuid}`;
}

/** Whether a holder of the lock is not one of this program's replicas. */
export function isForeign(identity: string): boolean {
  return !identity.startsWith(IDENTITY_PREFIX);
}

/** The Lease of the lock, as far as it matters to who holds it: what client-go's elector writes, but for acquireTime. */
export interface LockRecord {
  /** spec.holderIdentity; '' when nobody holds the lock. */
  readonly holder: string;
  /** spec.leaseDurationSeconds, in milliseconds; undefined when it is absent or no positive number. */
  readonly leaseDurationMs: number | undefined;
  /** spec.renewTime as written: it is only ever compared with itself, never with a clock (rule 2). */
  readonly renewTime: string | undefined;
  /** spec.leaseTransitions; 0 when absent. */
  readonly leaseTransitions: number;
  /** Whether one of our replicas wrote the holder, by the server's field ownership; undefined where there is none. */
  readonly isWrittenByOurs?: boolean | undefined;
}

/** The lock as its holder has last written it: all that the coordinator before it has written was written before. */
export interface OwnLock {
  readonly key: LeaseKey;
  readonly holder: string;
  /** In microseconds since the Unix epoch, by the holder's clock. */
  readonly renewTime: bigint;
}

/** What a write changes in the Lease. */
export interface RecordChange {
  /** '' lets go. */
  readonly holder: string;
  readonly leaseDurationMs: number;
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly wallTime: bigint;
}

export function readLockRecord(lease: KubernetesObject): LockRecord {
  const spec = specOf(lease);
  const seconds = spec['leaseDurationSeconds'];
  return {
    holder: textField(spec, 'holderIdentity') ?? '',
    leaseDurationMs: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined,
    renewTime: textField(spec, 'renewTime'),
    leaseTransitions: transitionsOf(spec),
    isWrittenByOurs: isWrittenByOurs(lease.metadata['managedFields']),
  };
}

function isWrittenByOurs(managedFields: unknown): boolean | undefined {
  return Array.isArray(managedFields) ? isOwned(managedFields, 'f:holderIdentity', FIELD_MANAGER) : undefined;
}

/** Whether this is how client-go and this program let go: a holder that stopped, not a Lease that somebody emptied. */
export function isReleased(record: LockRecord): boolean {
  return record.holder === '' && record.leaseDurationMs === RELEASED.leaseDurationMs;
}

/**
 * How `holder` lets go: at once or, where somebody ousted may act for another `settlingMs`, by letting it expire then:
 * whoever found the lock released would not know to wait for that.
 */
export function release(holder: string, settlingMs: number): Omit<RecordChange, 'wallTime'> {
  return settlingMs > 0 ? { holder, leaseDurationMs: settlingMs } : RELEASED;
}

/** A Lease for a lock that has none. */
export function newLockLease(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  change: RecordChange,
): KubernetesObject {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } };
  return { ...lease, spec: { ...changedFields({}, change), leaseTransitions: 0 } };
}

/** `lease` with nothing but its record changed, resourceVersion and unknown fields included. */
export function withRecord(lease: KubernetesObject, change: RecordChange): KubernetesObject {
  const spec = specOf(lease);
  return { ...lease, spec: { ...spec, ...changedFields(spec, change) } };
}

function changedFields(
  spec: Readonly<Record<string, unknown>>,
  change: RecordChange,
): Record<string, unknown> {
  const formerHolder = textField(spec, 'holderIdentity') ?? '';
  const written = formatMicroTime(change.wallTime);
  // A clock that was set back, or is coarse, must not make a renewal look like none: others judge by the change.
  const renewTime = written === spec['renewTime'] ? formatMicroTime(change.wallTime + 1n) : written;
  const renewed = {
    holderIdentity: change.holder,
    leaseDurationSeconds: Math.ceil(change.leaseDurationMs / 1000),
    renewTime,
  };
  if (change.holder === formerHolder) return renewed;
  // As client-go counts: a new holder is a transition, letting go is none.
  const leaseTransitions = Math.min(transitionsOf(spec) + (change.holder === '' ? 0 : 1), MAX_TRANSITIONS);
  return { ...renewed, acquireTime: renewTime, leaseTransitions };
}

/** The API's largest: an int32. One more would be refused, and nobody ever hold the lock again. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

function transitionsOf(spec: Readonly<Record<string, unknown>>): number {
  const transitions = spec['leaseTransitions'];
  return Number.isInteger(transitions) ? Math.max(0, Number(transitions)) : 0;
}
