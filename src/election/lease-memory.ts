import {
  type Belief,
  type Beliefs,
  beliefOf,
  leadsUntil,
  reservationFor,
  USUAL_DURATION_MS,
  withLost,
  withMore,
  withoutBelief,
} from './beliefs.ts';
import type { Instant, Lease, MicroTime } from './model.ts';

/** The last observed record of a Lease (rule 8), and other facts about its holder. */
export interface HolderRecord
  extends Pick<Lease, 'renewTime' | 'leaseDurationSeconds' | 'leaseTransitions' | 'preferredHolder'> {
  readonly leaseUid: string;
  readonly holder: string;
  /** True if another holder may have led with the same leaseTransitions. */
  readonly isNumberShared?: true;
  readonly since: Instant;
  readonly durationMs: number;
  /** True if a coordinator wrote this record: it is no renewal by the holder. */
  readonly isGrant?: true;
  /** The longest observed time between two renewals, in milliseconds; undefined if unknown (rule 17). */
  readonly renewedEveryMs?: number | undefined;
  /**
   * Only with crash evidence: when this process saw the holder acquire the Lease (rule 17). If a list showed the new
   * holder, this is when this process saw the previous record of the same Lease object; undefined if there was none.
   */
  readonly acquiredAfter?: Instant | undefined;
  /** The former holder, if it released our grant and this process saw no renewal of that grant (rule 3). */
  readonly refusedBy?: string;
}

/** A note that asks `holder` to yield. We first saw it in the holder's term at `since`, when the Lease had `renewTime`. */
export interface Noted {
  readonly holder: string;
  readonly preferredHolder: string;
  readonly since: Instant;
  readonly renewTime: MicroTime | undefined;
}

/** How often something has happened in a row (a lapse may count twice), and when it last happened. The input of a backoff. */
export interface Attempts {
  readonly count: number;
  readonly lastAt: Instant;
}

/** What this process remembers about one Lease. Immutable: a change creates a new value. */
export interface LeaseMemory {
  readonly record: HolderRecord | undefined;
  readonly wasHeld: boolean;
  /** The Lease's preferredHolder when its last holder released it. Kept until the Lease has a holder again. */
  readonly yieldedTo: string | undefined;
  /** The beliefs of holders that may have led (rule 8). {@link allBeliefs} adds beliefs of supposed and lost grants. */
  readonly beliefs: Beliefs;
  /** The last known duration of a holder, at least 15 s, in ms. The minimum assumed for a holder of unknown duration. */
  readonly usualDurationMs: number;
  /** When each holder last released the Lease or provably ended, oldest first. At most 100 (rules 1, 3 and 17). */
  readonly withdrawals: ReadonlyMap<string, Instant>;
  /** The time of the last withdrawal that is a proven end, such as a crash, and no release (rule 17). */
  readonly endedAt?: Instant;
  /** Our last grant, while its result is unknown. Undefined once it is `supposedGrant` or one of `lostGrants`. */
  readonly grantOnItsWay: Grant | undefined;
  /** Our grant with an unknown result: the Lease has changed without showing the grant. The server may still refuse it. */
  readonly supposedGrant: SupposedGrant | undefined;
  /**
   * Our grants that we have not seen in the Lease, and for whose answers we no longer wait. If the server has written
   * such a grant, its holder may renew the Lease unseen.
   */
  readonly lostGrants: readonly SupposedGrant[];
  /** Our last grant that the server has written, while this process has not seen a renewal by its holder. */
  readonly unrenewedGrant: UnrenewedGrant | undefined;
  /** A grant and its revisions (rule 12). `count`: number of these grants. `since`: time of the first of them. */
  readonly grantSeries: { readonly count: number; readonly since: Instant };
  /** Consecutive lapses, by holder. A lapse is a grant that the holder did not take up in time (rule 7). */
  readonly lapses: ReadonlyMap<string, Attempts>;
  /** Lapses of all holders of the Lease since a holder last renewed. Counts as in {@link withLapse}. */
  readonly lapsesOfLease: Attempts;
  /** Fields in our last write since the holder got the Lease. They show whether the holder or another client removes one. */
  readonly written: { readonly preferredHolder?: string; readonly strategy?: string };
  /** Set while a note, not spec.preferredHolder, asks the holder to yield. Some holders read no notes (rule 14). */
  readonly noted: Noted | undefined;
  readonly ignoredWrites: Attempts;
  readonly failedPreemptions: Attempts;
  readonly preemptedAt: Instant;
  /** Rounds of pings since the last grant or new holder. Set to 1 when a ping of a round fails: the next pause is short. */
  readonly rounds: Attempts;
  /** Identifies the last reported conflict: its parties, their binaryVersions and their strategies (rule 4). */
  readonly conflict: string | undefined;
  /** When this process learned that the last result of an election was written. Earlier acks no longer count (rule 3). */
  readonly decidedAt: Instant;
  /** When the server first confirmed, or permanently refused, a ping of the current election (rule 6). */
  readonly askingSince: Instant | undefined;
}

/** Our grant that may have been written, and the belief of its holder in case the holder has taken it up. */
export interface SupposedGrant {
  readonly grant: Grant;
  readonly belief: Belief;
}

/** Our grant, while this process has not seen a renewal by its holder (rule 12). */
export interface UnrenewedGrant
  extends Pick<Grant, 'holder' | 'renewTime' | 'leaseDurationSeconds' | 'isPreemption' | 'isReturn'> {
  /** Identifies the grant. The renewTime does not: a holder may renew with the same renewTime that we wrote. */
  readonly resourceVersion: string;
  /** The deadline for the holder to take up the grant (rule 12). */
  readonly takeUpBy: Instant;
}

/** A grant, with the facts about the former holder that the coordinator knew when it decided. */
export interface Grant {
  readonly holder: string;
  readonly renewTime: MicroTime;
  readonly former: string | undefined;
  readonly leaseDurationSeconds: number;
  /** True if `former` never led by its own grant, because it did not take up that grant in time. */
  readonly hasFormerLapsed: boolean;
  /** Why this grant replaces a provisional grant to `former` (rule 12); undefined if it does not. */
  readonly revises: 'holderLost' | 'holderWorse' | 'holderLate' | undefined;
  /** Set if this grant does not wait for the expiry, because the former holder has provably ended (rule 17). */
  readonly hasFormerEnded?: true;
  /** Set if the grant returns the Lease to `holder`, which may still lead by its own earlier record (rule 8). */
  readonly isReturn?: true;
  readonly isPreemption: boolean;
  /** Set if we preferred another candidate, and that candidate is gone, silent or held back. */
  readonly hasPreferredFailed?: true;
}

export const NO_ATTEMPTS: Attempts = { count: 0, lastAt: Number.NEGATIVE_INFINITY };

export const noMemory: LeaseMemory = {
  record: undefined,
  wasHeld: false,
  yieldedTo: undefined,
  beliefs: [],
  usualDurationMs: USUAL_DURATION_MS,
  withdrawals: new Map(),
  grantOnItsWay: undefined,
  supposedGrant: undefined,
  lostGrants: [],
  unrenewedGrant: undefined,
  grantSeries: { count: 0, since: Number.NEGATIVE_INFINITY },
  lapses: new Map(),
  lapsesOfLease: NO_ATTEMPTS,
  written: {},
  noted: undefined,
  ignoredWrites: NO_ATTEMPTS,
  failedPreemptions: NO_ATTEMPTS,
  preemptedAt: Number.NEGATIVE_INFINITY,
  rounds: NO_ATTEMPTS,
  conflict: undefined,
  decidedAt: Number.NEGATIVE_INFINITY,
  askingSince: undefined,
};

/** Returns the beliefs of all holders that may have led (rule 8), including the holders of supposed and lost grants. */
export function allBeliefs(memory: LeaseMemory): Beliefs {
  let all = withSupposed(memory);
  for (const { belief } of memory.lostGrants) all = withMore(all, belief);
  return all;
}

/**
 * Returns the beliefs of holders for which the coordinator has to wait before a grant. If the Lease is known, omits the
 * holders of lost grants: if the server has written a lost grant, our next grant has an outdated resourceVersion, so
 * the server refuses our next grant.
 */
export function blockingBeliefs(memory: LeaseMemory): Beliefs {
  return memory.record ? withSupposed(memory) : allBeliefs(memory);
}

function withSupposed({ beliefs, supposedGrant }: LeaseMemory): Beliefs {
  return supposedGrant ? withMore(beliefs, supposedGrant.belief) : beliefs;
}

/** Returns the time until which the record's holder may lead, by this or an earlier record; -Infinity if no record. */
export function expiryOf(memory: LeaseMemory): Instant {
  const { record } = memory;
  if (!record) return Number.NEGATIVE_INFINITY;
  const belief = beliefOf(blockingBeliefs(memory), record.holder);
  return Math.max(record.since + record.durationMs, belief ? leadsUntil(belief) : Number.NEGATIVE_INFINITY);
}

/** True while the holder has not renewed our grant, or another replica's grant without `isReturn` (rule 12). */
export function isGrantUnrenewed({ record, unrenewedGrant }: LeaseMemory, lease: Lease | undefined): boolean {
  if (record === undefined) return false;
  if (lease?.isUnrenewedGrant && lease.holderIdentity === record.holder) return true;
  return record.holder === unrenewedGrant?.holder && record.renewTime === unrenewedGrant.renewTime;
}

/** True while the holder has not taken up its grant, and it is certain that no former holder still leads (rule 12). */
export function isProvisional(memory: LeaseMemory, lease: Lease, at: Instant): boolean {
  return isGrantUnrenewed(memory, lease) && reservationFor(blockingBeliefs(memory), at) === undefined;
}

/** If a preferredHolder loses the Lease within this time after its grant, in ms, the preemption usually failed (rule 7). */
const PREEMPTION_PROBATION_MS = 60_000;

const TAKE_UP_MS = 5000;

/**
 * Returns how long a running coordinated elector may need to take up a grant, in milliseconds. client-go's elector
 * reads the Lease every 2.0 to 4.4 s by default (rule 12), and often less frequently if the lease duration is longer.
 */
export function takeUpMs(leaseDurationSeconds: number): number {
  return Math.max(TAKE_UP_MS, leaseDurationSeconds * 500);
}

/** If the last attempt was longer ago than this, in milliseconds, the next attempt counts as the first one. */
const ATTEMPTS_DECAY_MS = 15 * 60_000;

/** Records that the server or a client removed or changed fields that we wrote. We write them again after a backoff. */
export function recordIgnoredWrite(memory: LeaseMemory, at: Instant): LeaseMemory {
  return { ...memory, written: {}, ignoredWrites: again(memory.ignoredWrites, at) };
}

/** Records that the server has confirmed a grant. The watch may have shown the grant before this answer. */
export function recordGrantAnswered(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
  sentAt = at,
): LeaseMemory {
  if (memory.grantOnItsWay === grant) return recordGrant(memory, grant, resourceVersion, at, sentAt);
  const { unrenewedGrant } = memory;
  // Usually, the watch has already shown this grant. If it showed a later version, assume that the holder has renewed.
  const isOther = unrenewedGrant?.holder !== grant.holder || unrenewedGrant.renewTime !== grant.renewTime;
  const isKept = isOther || unrenewedGrant.resourceVersion === resourceVersion;
  return { ...memory, decidedAt: at, unrenewedGrant: isKept ? unrenewedGrant : undefined };
}

/**
 * Records that the server wrote a grant. `at`: when an answer or the watch showed this. `sentAt`: when the request was
 * sent, or `at` if the watch showed the grant.
 */
export function recordGrant(
  memory: LeaseMemory,
  grant: Grant,
  resourceVersion: string,
  at: Instant,
  sentAt = at,
): LeaseMemory {
  const { former, holder, renewTime, leaseDurationSeconds, isPreemption, revises, isReturn } = grant;
  // A preemption has not failed if a better candidate soon gets the Lease: several versions may be deployed in a row.
  const isEarlyLoss =
    !isPreemption &&
    revises !== 'holderWorse' &&
    former !== holder &&
    at < memory.preemptedAt + PREEMPTION_PROBATION_MS;
  const hasFailed = isEarlyLoss || grant.hasPreferredFailed;
  const { record, grantSeries, failedPreemptions } = memory;
  const { count, since } = grantSeries;
  const isOthers = record !== undefined && record.holder !== '' && record.holder !== holder;
  // The server wrote the grant, so the holder has not renewed since the proof of its end: it cannot lead (rule 17).
  const hasEnded = isOthers && grant.hasFormerEnded === true && record.holder === former;
  const beliefs = hasEnded ? withoutBelief(memory.beliefs, former) : memory.beliefs;
  return {
    ...memory,
    ...(hasEnded && { withdrawals: withWithdrawal(memory.withdrawals, former, at), endedAt: at }),
    grantOnItsWay: undefined,
    wasHeld: true,
    yieldedTo: undefined,
    beliefs: isOthers ? withLost(beliefs, record.holder, at) : beliefs,
    unrenewedGrant: {
      holder,
      renewTime,
      resourceVersion,
      leaseDurationSeconds,
      // A server that answers us slowly also answers the holder slowly.
      takeUpBy: at + takeUpMs(leaseDurationSeconds) + (at - sentAt),
      isPreemption,
      ...(isReturn && { isReturn }),
    },
    grantSeries: revises ? { count: count + 1, since } : { count: 1, since: at },
    ...(former !== undefined && grant.hasFormerLapsed && recordLapse(memory, grant, at)),
    written: {},
    ignoredWrites: NO_ATTEMPTS,
    preemptedAt: isPreemption ? at : isEarlyLoss ? Number.NEGATIVE_INFINITY : memory.preemptedAt,
    failedPreemptions: hasFailed ? again(failedPreemptions, at) : failedPreemptions,
    rounds: NO_ATTEMPTS,
    conflict: undefined,
    decidedAt: at,
    askingSince: undefined,
  };
}

export function again(attempts: Attempts, lastAt: Instant): Attempts {
  return { count: lastAt - attempts.lastAt > ATTEMPTS_DECAY_MS ? 1 : attempts.count + 1, lastAt };
}

/** A candidate with a lapse is held back if its count of lapses, or the count of its Lease, exceeds this (rule 7). */
export const LAPSES_ALLOWED = 1;

/** Adds a lapse. `isEnough`: one lapse holds the candidate back. Default: true if the grant was a preemption (rule 7). */
export function withLapse(
  attempts: Attempts,
  { unrenewedGrant }: LeaseMemory,
  at: Instant,
  isEnough = unrenewedGrant?.isPreemption,
): Attempts {
  const { count } = again(attempts, at);
  return { count: isEnough ? Math.max(count, LAPSES_ALLOWED + 1) : count, lastAt: at };
}

/** Records a lapse. Drops old lapses to keep the map small: a crashing program may change its name each time. */
function recordLapse(memory: LeaseMemory, { former = '', revises }: Grant, at: Instant) {
  const { lapses, lapsesOfLease } = memory;
  const recent = [...lapses].filter(([, { lastAt }]) => at - lastAt <= ATTEMPTS_DECAY_MS);
  // A single lapse is enough to hold back a late holder. Otherwise, the late holder could soon replace the candidate
  // that has replaced it.
  const isEnough = revises === 'holderLate' || undefined;
  const own = withLapse(lapses.get(former) ?? NO_ATTEMPTS, memory, at, isEnough);
  return { lapses: new Map(recent).set(former, own), lapsesOfLease: withLapse(lapsesOfLease, memory, at) };
}

/** withWithdrawal() drops releases older than this, in ms: the default of candidateGcAfter (rule 1). */
const WITHDRAWAL_KEPT_MS = 2 * 60 * 60_000;
/** Maximum number of remembered releases per Lease. A client may release a Lease under thousands of names. */
const MAX_WITHDRAWALS = 100;

/** Adds a release by `holder` at `at`. Drops old releases. */
export function withWithdrawal(
  withdrawals: LeaseMemory['withdrawals'],
  holder: string,
  at: Instant,
): LeaseMemory['withdrawals'] {
  const kept = [...withdrawals].filter(
    ([name, earlier]) => name !== holder && at - earlier < WITHDRAWAL_KEPT_MS,
  );
  return new Map([...kept.slice(1 - MAX_WITHDRAWALS), [holder, at]]);
}
