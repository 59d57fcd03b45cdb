import {
  decideLock,
  type LockDecision,
  type LockObservation,
  observeLock,
} from '../../src/controller/lock/lock-decision.ts';
import {
  IDENTITY_PREFIX,
  isForeign,
  type LockRecord,
  newLockLease,
  readLockRecord,
  withRecord,
} from '../../src/controller/lock/lock-record.ts';
import { FIELD_MANAGER } from '../../src/coordination/lease.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { BELIEF_TICKS, DEADLINE_TICKS, TICK_MS } from './world.ts';

export { decideLock, type LockDecision, type LockObservation, observeLock };

/** The lock, the processes that want it, and the faults that may still happen. Immutable. */
export interface LockWorld {
  readonly tick: number;
  readonly serial: number;
  readonly lease: StoredLock | undefined;
  readonly replicas: readonly Replica[];
  readonly builtIn: BuiltIn;
  readonly faults: LockFaults;
}

/** The Lease of the lock on the server. */
export interface StoredLock {
  readonly object: KubernetesObject;
  readonly record: LockRecord;
  readonly version: string;
}

export interface LockFaults {
  readonly deletions: number;
  readonly emptyings: number;
  readonly losses: number;
  readonly crashes: number;
  readonly restarts: number;
  readonly stops: number;
  readonly sleeps: number;
  /** A tick passes although an awake process has not acted yet. */
  readonly lags: number;
}

/** The lock state of a coordinator of this project, as in coordinator-lock.ts. */
export interface Replica {
  readonly identity: string;
  readonly life: 'up' | 'asleep' | 'down';
  readonly seen: StoredLock | undefined;
  readonly observation: LockObservation | undefined;
  readonly isFresh: boolean;
  /** When it sent its last successful renewal, while it holds the lock. */
  readonly renewedTick: number | undefined;
  readonly actFrom: number;
  readonly actFromIfRefused: number | undefined;
  readonly isContested: boolean;
  readonly forceNotBefore: number;
  /** When it last completed all pending actions. */
  readonly attemptedTick: number;
  readonly answer: LockAnswer | undefined;
  /** When it was last allowed to write. Such a write may be in flight until the next tick. */
  readonly activeTick: number | undefined;
}

export interface LockAnswer {
  readonly kind: 'claim' | 'force' | 'renew';
  readonly sentTick: number;
  readonly formerActFrom: number;
  /** Undefined: refused. */
  readonly lease: StoredLock | undefined;
}

/** The coordinator built into the API server: client-go's plain elector, with ReleaseOnCancel. */
export interface BuiltIn {
  readonly life: 'up' | 'asleep' | 'down';
  readonly observed: { readonly record: LockRecord; readonly sinceTick: number } | undefined;
  /** When its last renewal began, while it leads. */
  readonly renewedTick: number | undefined;
  /** It has stopped leading, and is about to release the lock. */
  readonly isReleasing: boolean;
  /** Since when it no longer owns the lock under which it leads. */
  readonly lostTick: number | undefined;
  /** It took a free lock. It cannot know whether a replica held that lock before and has not noticed the loss yet. */
  readonly isUsurper: boolean;
}

export const BUILT_IN = 'kube-apiserver';

/** The holders from which a replica may take the lock by force. */
export function lockRules({ identity }: Replica) {
  return { identity, takeOver: true };
}

export function makeReplica(index: number, life: Replica['life']): Replica {
  return {
    identity: `${IDENTITY_PREFIX}${index + 1}`,
    life,
    seen: undefined,
    observation: undefined,
    isFresh: false,
    renewedTick: undefined,
    actFrom: Number.NEGATIVE_INFINITY,
    actFromIfRefused: undefined,
    isContested: false,
    forceNotBefore: Number.NEGATIVE_INFINITY,
    attemptedTick: -1,
    answer: undefined,
    activeTick: undefined,
  };
}

export function nowMs({ tick }: LockWorld): number {
  return tick * TICK_MS;
}

/** Whether a replica holds the lock, by its own clock. */
export function isRenewed({ life, renewedTick }: Replica, { tick }: LockWorld): boolean {
  return life !== 'down' && renewedTick !== undefined && tick < renewedTick + DEADLINE_TICKS;
}

/** Whether a replica may begin a write. */
export function isActive(replica: Replica, world: LockWorld): boolean {
  return isRenewed(replica, world) && nowMs(world) >= replica.actFrom;
}

/** Whether the built-in coordinator may act: at most as long as its Lease lasts. */
export function isBuiltInActive({ life, renewedTick }: BuiltIn, { tick }: LockWorld): boolean {
  return life !== 'down' && renewedTick !== undefined && tick < renewedTick + BELIEF_TICKS;
}

/** Stores a write of a replica or of the built-in coordinator, based on the version that it has seen. */
export function writeLock(
  world: LockWorld,
  holder: string,
  leaseDurationMs: number,
  writer: Writer = isForeign(holder) ? 'other' : 'replica',
): LockWorld {
  const serial = world.serial + 1;
  const wallTime = BigInt(Date.UTC(2026, 0, 1)) * 1000n + BigInt(nowMs(world) * 1000 + serial);
  const change = { holder, leaseDurationMs, wallTime };
  const object = world.lease
    ? withRecord(world.lease.object, change)
    : newLockLease({ namespace: 'kube-system', name: 'lock' }, change);
  return withLock({ ...world, serial }, stored(object, serial, ownerAfter(world.lease, holder, writer)));
}

function withLock(world: LockWorld, lease: StoredLock | undefined): LockWorld {
  const { builtIn, tick } = world;
  const isLost = world.lease?.record.holder === BUILT_IN && lease?.record.holder !== BUILT_IN;
  return { ...world, lease, builtIn: isLost ? { ...builtIn, lostTick: tick } : builtIn };
}

type Writer = 'replica' | 'other';

/** The last writer that changes the holder's name owns the field. */
function ownerAfter(before: StoredLock | undefined, holder: string, writer: Writer): Writer {
  if (before?.record.holder !== holder) return writer;
  return before.record.isWrittenByOurs ? 'replica' : 'other';
}

/** A write of a vandal. */
export function spoilLock(world: LockWorld, holder: '' | undefined): LockWorld {
  const serial = world.serial + 1;
  if (holder === undefined || !world.lease) return withLock({ ...world, serial }, undefined);
  const { object } = world.lease;
  const spec = { ...(object['spec'] as Record<string, unknown>), holderIdentity: holder };
  return withLock({ ...world, serial }, stored({ ...object, spec }, serial, 'other'));
}

/** Includes the field ownership that the model uses. */
function stored(object: KubernetesObject, serial: number, owner: Writer): StoredLock {
  const manager = owner === 'replica' ? FIELD_MANAGER : 'kube-apiserver';
  const managedFields = [{ manager, fieldsV1: { 'f:spec': { 'f:holderIdentity': {} } } }];
  const owned = { ...object, metadata: { ...object.metadata, managedFields } };
  return { object: owned, record: readLockRecord(owned), version: `v${serial}` };
}
