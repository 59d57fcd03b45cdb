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

/** The lock, those who want it, and what may still go wrong. Immutable. */
export interface LockWorld {
  readonly tick: number;
  readonly serial: number;
  readonly lease: StoredLock | undefined;
  readonly replicas: readonly Replica[];
  readonly builtIn: BuiltIn;
  readonly faults: LockFaults;
}

/** The Lease of the lock as the server has it. */
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
  /** A tick passes although one of those awake has something to do. */
  readonly lags: number;
}

/** One of this project's coordinators, as far as it is about the lock: what coordinator-lock.ts keeps. */
export interface Replica {
  readonly identity: string;
  readonly life: 'up' | 'asleep' | 'down';
  readonly seen: StoredLock | undefined;
  readonly observation: LockObservation | undefined;
  readonly isFresh: boolean;
  /** When the last renewal that succeeded was sent, while it holds the lock. */
  readonly renewedTick: number | undefined;
  readonly actFrom: number;
  readonly actFromIfRefused: number | undefined;
  readonly isContested: boolean;
  readonly forceNotBefore: number;
  /** When it last did all that there was to do. */
  readonly attemptedTick: number;
  readonly answer: LockAnswer | undefined;
  /** When it last was allowed to write: such a write may be under way until the next tick. */
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
  /** Since when the lock that it has led by is not its own any more. */
  readonly lostTick: number | undefined;
  /** It took a lock that was nobody's: whether a replica had held that until then, and does not know yet, it cannot tell. */
  readonly isUsurper: boolean;
}

export const BUILT_IN = 'kube-apiserver';

/** Whom a replica may oust. */
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

/** Whether the built-in coordinator may act: as long as its Lease lasts, at the longest. */
export function isBuiltInActive({ life, renewedTick }: BuiltIn, { tick }: LockWorld): boolean {
  return life !== 'down' && renewedTick !== undefined && tick < renewedTick + BELIEF_TICKS;
}

/** Stores what a replica or the built-in writes on the version it has seen. */
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

/** The holder's name belongs to whoever has changed it last. */
function ownerAfter(before: StoredLock | undefined, holder: string, writer: Writer): Writer {
  if (before?.record.holder !== holder) return writer;
  return before.record.isWrittenByOurs ? 'replica' : 'other';
}

/** A vandal's doing. */
export function spoilLock(world: LockWorld, holder: '' | undefined): LockWorld {
  const serial = world.serial + 1;
  if (holder === undefined || !world.lease) return withLock({ ...world, serial }, undefined);
  const { object } = world.lease;
  const spec = { ...(object['spec'] as Record<string, unknown>), holderIdentity: holder };
  return withLock({ ...world, serial }, stored({ ...object, spec }, serial, 'other'));
}

/** With the server's field ownership, as far as anyone here looks at it. */
function stored(object: KubernetesObject, serial: number, owner: Writer): StoredLock {
  const manager = owner === 'replica' ? FIELD_MANAGER : 'kube-apiserver';
  const managedFields = [{ manager, fieldsV1: { 'f:spec': { 'f:holderIdentity': {} } } }];
  const owned = { ...object, metadata: { ...object.metadata, managedFields } };
  return { object: owned, record: readLockRecord(owned), version: `v${serial}` };
}
