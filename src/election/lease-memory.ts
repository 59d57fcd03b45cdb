import type { Instant, MicroTime } from './time.ts';

/** The part of a Lease that a holder renews: while it stays the same, the holder has not been heard of. */
export interface HolderRecord {
  readonly leaseUid: string;
  readonly holder: string;
  readonly renewTime: MicroTime | undefined;
  readonly leaseDurationSeconds: number | undefined;
  /** Since when this process has seen exactly this record. */
  readonly since: Instant;
  /** How long from `since` the holder may believe that it leads, in milliseconds (rule 8). */
  readonly beliefMs: number;
}

/**
 * A Lease that lost its holder's record in a way that does not prove that the holder knows: it stays that holder's for a
 * while. It outlives a grant to that same holder, which may be shorter than what the holder believes in.
 */
export interface Reservation {
  /** Who may believe in it for longest; undefined: it is known to be somebody else than whoever released it. */
  readonly holder: string | undefined;
  readonly from: Instant;
  readonly until: Instant;
  /** Until when others than `holder` may believe in the Lease: it was taken from one after the other. */
  readonly othersUntil: Instant;
}

/** A holder that is asked to give way by a note, and since when this process has seen that. */
export interface Noted {
  readonly holder: string;
  readonly preferredHolder: string;
  readonly since: Instant;
  /** What the Lease had then. */
  readonly renewTime: MicroTime | undefined;
}

/** How often something failed in a row, and when last: what a backoff is computed from. */
export interface Attempts {
  readonly count: number;
  readonly lastAt: Instant;
}

/** What this process remembers of one Lease, beyond what the Lease itself says. Immutable; the functions give the next. */
export interface LeaseMemory {
  readonly record: HolderRecord | undefined;
  readonly reservation: Reservation | undefined;
  /** By holder, when it last released the Lease, in the order of the releases; of the last two hours, and a hundred at most (rules 1 and 3). */
  readonly withdrawals: ReadonlyMap<string, Instant>;
  /** A grant of ours that was sent; until it is answered, or seen, it may or may not have been written. */
  readonly grantOnItsWay: Grant | undefined;
  /**
   * Our last grant, until its holder renews it. It goes by the resourceVersion that the grant was given: a holder whose clock
   * differs from ours may renew it with the very renewTime that we wrote.
   */
  readonly unrenewedGrant:
    | { readonly holder: string; readonly renewTime: MicroTime; readonly resourceVersion: string }
    | undefined;
  /** Grants of ours that each replaced the one before it, the last one among them, and since when (rule 12). */
  readonly grantSeries: { readonly count: number; readonly since: Instant };
  /**
   * Who was last seen to hold the Lease by more than a grant of ours that nobody took up, and for how long it believed in
   * its record, in milliseconds; undefined once it has released the Lease, or somebody else was given it. It may wake up
   * late and release what it finds.
   */
  readonly leader: { readonly holder: string; readonly beliefMs: number } | undefined;
  /** Until when a release may be the work of the leader whose Lease a grant by expiry gave away (rule 8). */
  readonly releaseDoubtedUntil: Instant;
  /** Grants that ran out without ever being renewed, in a row, by holder (rule 7). */
  readonly lapses: ReadonlyMap<string, Attempts>;
  /** What we last wrote beside the current holder, to notice when its renewals wipe it. */
  readonly written: { readonly preferredHolder?: string; readonly strategy?: string };
  /** Set while the holder is asked to give way by a note alone, which it may know nothing of (rule 14). */
  readonly noted: Noted | undefined;
  readonly ignoredWrites: Attempts;
  readonly failedPreemptions: Attempts;
  /** When the Lease last went to a preferredHolder. */
  readonly preemptedAt: Instant;
  /** Rounds of pings to silent candidates since the Lease was last led. */
  readonly rounds: Attempts;
  /** Which candidates, asking for what, are in the strategy conflict that was reported last. */
  readonly conflict: string | undefined;
  /** Acks from before the last decision are used up. */
  readonly decidedAt: Instant;
  /** When the server answered the first ping of the election that is under way (rule 6). */
  readonly askingSince: Instant | undefined;
}

/** What a grant means for those who held the Lease before; known when it is decided. */
export interface Grant {
  readonly holder: string;
  /** The renewTime that the grant itself writes: any other is the holder's own. */
  readonly renewTime: MicroTime;
  /** Who had the Lease before. */
  readonly former: string | undefined;
  /** Set when `former` let a grant run out without ever renewing it: it has never led by it. */
  readonly hasFormerLapsed: boolean;
  /** Set when it replaces a grant that `former` has not renewed, nor let run out, and why (rule 12). */
  readonly revises: 'holderLost' | 'holderWorse' | undefined;
  /** Set when the new holder was the preferredHolder. */
  readonly isPreemption: boolean;
  /** Set when another was the preferredHolder, by our doing, and has fallen silent or gone since. */
  readonly hasPreferredFailed?: true;
}

export const NO_ATTEMPTS: Attempts = { count: 0, lastAt: Number.NEGATIVE_INFINITY };

/** What is remembered of a Lease never seen before. */
export const noMemory: LeaseMemory = {
  record: undefined,
  reservation: undefined,
  withdrawals: new Map(),
  grantOnItsWay: undefined,
  unrenewedGrant: undefined,
  grantSeries: { count: 0, since: Number.NEGATIVE_INFINITY },
  leader: undefined,
  releaseDoubtedUntil: Number.NEGATIVE_INFINITY,
  lapses: new Map(),
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

/** Until when the holder of `memory.record` may believe in it. */
export function believesUntil({ record, reservation }: LeaseMemory): Instant {
  if (!record) return Number.NEGATIVE_INFINITY;
  const until = record.since + record.beliefMs;
  return reservation?.holder === record.holder ? Math.max(until, reservation.until) : until;
}

/** True when the Lease is as our last grant left it: its holder has never renewed it. */
export function isGrantUnrenewed({ record, unrenewedGrant }: LeaseMemory): boolean {
  return (
    record !== undefined &&
    record.holder === unrenewedGrant?.holder &&
    record.renewTime === unrenewedGrant.renewTime
  );
}

/**
 * True while nobody leads by the Lease's record: it is a grant of ours that its holder has never renewed, and nothing
 * that the holder had before it can still make it believe that it leads (rules 8 and 12).
 */
export function isProvisional(memory: LeaseMemory, at: Instant): boolean {
  const { record, reservation } = memory;
  return (
    isGrantUnrenewed(memory) && !(reservation?.holder === record?.holder && at < (reservation?.until ?? at))
  );
}
