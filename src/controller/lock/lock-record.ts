import { FIELD_MANAGER } from '../../coordination/lease.ts';
import type { LeaseKey } from '../../coordination/lease-key.ts';
import { formatMicroTime } from '../../coordination/micro-time.ts';
import { ownersOf, specOf, textField } from '../../coordination/raw-object.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { JsonObject } from '../../support/json.ts';

/** Prefix of the identity of each of our replicas. Other holders are foreign, such as the built-in controller. */
export const IDENTITY_PREFIX = 'coordinated-leader-election_';

const RELEASED = { holder: '', leaseDurationMs: 1000 };

/** `uuid` distinguishes this process from an earlier process with the same hostname. */
export function replicaIdentity(hostname: string, uuid: string): string {
  return `${IDENTITY_PREFIX}${hostname}_${uuid}`;
}

export function isForeign(identity: string): boolean {
  return !identity.startsWith(IDENTITY_PREFIX);
}

/** The fields of the lock's Lease that affect decisions about the lock. */
export interface LockRecord {
  /** spec.holderIdentity; '' when there is no holder. */
  readonly holder: string;
  /** spec.leaseDurationSeconds in ms; undefined when absent or not a positive number. */
  readonly leaseDurationMs: number | undefined;
  /** spec.renewTime as written. Compare it only with other renewTimes, never with a clock (rule 2). */
  readonly renewTime: string | undefined;
  /** spec.leaseTransitions; 0 when absent, negative or not an integer. */
  readonly leaseTransitions: number;
  /** Whether one of our replicas wrote holderIdentity, according to managedFields; undefined without managedFields. */
  readonly isWrittenByOurs?: boolean | undefined;
}

/** Our last known write of the lock. A watch of all Leases shows this write after all writes of the former coordinator. */
export interface OwnLock {
  readonly key: LeaseKey;
  readonly holder: string;
  /** Microseconds since the Unix epoch, by the holder's clock. */
  readonly renewTime: bigint;
}

export interface RecordChange {
  /** The new holderIdentity. With '', the write releases the lock. */
  readonly holder: string;
  readonly leaseDurationMs: number;
  /** The time of the write by our wall clock, in microseconds since the Unix epoch. */
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
    isWrittenByOurs: Array.isArray(lease.metadata['managedFields'])
      ? ownersOf(lease, ['spec', 'holderIdentity']).includes(FIELD_MANAGER)
      : undefined,
  };
}

/** Whether the record looks like a release by client-go or this program, not like a Lease emptied by another client. */
export function isReleased(record: LockRecord): boolean {
  return record.holder === '' && record.leaseDurationMs === RELEASED.leaseDurationMs;
}

/**
 * Returns the change that gives up the lock. If a former holder may still act for `settlingMs`, this change does not
 * release the lock, but keeps `holder`, and makes the lock expire after `settlingMs`.
 */
export function release(holder: string, settlingMs: number): Omit<RecordChange, 'wallTime'> {
  return settlingMs > 0 ? { holder, leaseDurationMs: settlingMs } : RELEASED;
}

export function newLockLease(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  change: RecordChange,
): KubernetesObject {
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } };
  return { ...lease, spec: { ...changedFields({}, change), leaseTransitions: 0 } };
}

/** Returns `lease` with the `changedFields`. Keeps all other fields, including resourceVersion and unknown fields. */
export function withRecord(lease: KubernetesObject, change: RecordChange): KubernetesObject {
  const spec = specOf(lease);
  return { ...lease, spec: { ...spec, ...changedFields(spec, change) } };
}

function changedFields(spec: JsonObject, { holder, leaseDurationMs, wallTime }: RecordChange): JsonObject {
  const written = formatMicroTime(wallTime);
  // Other replicas recognize a renewal by a changed renewTime, so change it even if our clock shows the old renewTime.
  const renewTime = written === spec['renewTime'] ? formatMicroTime(wallTime + 1n) : written;
  const leaseDurationSeconds = Math.ceil(leaseDurationMs / 1000);
  const renewed = { holderIdentity: holder, leaseDurationSeconds, renewTime };
  if (holder === (textField(spec, 'holderIdentity') ?? '')) return renewed;
  // As in client-go: a new holder counts as a transition, a release does not.
  const leaseTransitions = Math.min(transitionsOf(spec) + (holder === '' ? 0 : 1), MAX_TRANSITIONS);
  return { ...renewed, acquireTime: renewTime, leaseTransitions };
}

/** The maximum of int32. The API server rejects larger numbers. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

function transitionsOf(spec: JsonObject): number {
  const transitions = spec['leaseTransitions'];
  return Number.isInteger(transitions) ? Math.max(0, Number(transitions)) : 0;
}
