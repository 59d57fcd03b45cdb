import type { Reason } from '../election/decision.ts';
import type { CandidateState } from '../election/view.ts';
import type { LeaseStatus, RankedCandidate } from '../inspection/lease-status.ts';
import type { Clock } from '../support/clock.ts';
import { bounded, printable, printableJson } from '../support/text.ts';
import type { LeaseEvent } from '../telemetry/lease-event.ts';

// The messages of the stream. All times are in milliseconds since the Unix epoch, by the replica's clock.

export interface Messages {
  readonly hello: HelloMessage;
  readonly state: StateMessage;
  /** New and changed Leases, and the keys of deleted ones. */
  readonly leases: { readonly changed: readonly LeaseEntry[]; readonly gone: readonly string[] };
  readonly elections: readonly ElectionEntry[];
  /** Sent after all Leases have been sent once. */
  readonly complete: { readonly leases: number };
  /** Sent at the start, and later if there is nothing else to send. */
  readonly beat: { readonly now: number };
  /** The only message of a refused stream. */
  readonly refused: { readonly why: string };
}

/** The first message of a connection: the meaning of all words. Data from before this message may be outdated. */
export interface HelloMessage {
  readonly version: string;
  /** When this replica started. It does not know earlier elections. */
  readonly startedAt: number;
  /** Empty for all namespaces. */
  readonly namespaces: readonly string[];
  /** Advice for the reasons that a user can act on. */
  readonly advice: Readonly<Partial<Record<Reason, string>>>;
  readonly states: Readonly<Record<CandidateState, string>>;
  readonly losses: Readonly<Record<string, string>>;
  readonly notServedAdvice: string;
}

/** The state of the replica that serves the page. */
export interface StateMessage {
  /** `dryRun`: the replica has no lock. The other values are states of the lock. */
  readonly replica: 'dryRun' | 'standby' | 'waiting' | 'settling' | 'active';
  readonly lockHolder?: string | undefined;
  /** `unknown` before discovery. */
  readonly api: 'unknown' | 'served' | 'notServed';
  /** Whether the first lists are complete. */
  readonly hasSynced: boolean;
  /** When the caches stopped getting changes; absent while they get changes, and before the first sync. */
  readonly blindSince?: number | undefined;
}

/** A summary of a condition, which the page shows by colour and shape. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

/** The state of a Lease. Contains times, not ages, so that the entry of an unchanged Lease stays equal. */
export interface LeaseEntry
  extends Pick<LeaseStatus, 'holder' | 'isHeld' | 'preferredHolder' | 'strategy' | 'reason'> {
  readonly key: string;
  /** Whether there are candidates but no valid holder. */
  readonly isUnled: boolean;
  /** When the Lease lost its leader; absent if the replica did not see that. */
  readonly unledSince?: number | undefined;
  readonly tone: Tone;
  readonly waitingFor?: string | undefined;
  readonly verdict: string;
  readonly transitions: number;
  /** Best candidate first. At most 100, because a page cannot show more. */
  readonly candidates: readonly CandidateEntry[];
  /** Number of candidates, including those that are not shown. */
  readonly total: number;
  /** Number of candidates that do not answer. */
  readonly silent: number;
}

export interface CandidateEntry
  extends Pick<RankedCandidate, 'name' | 'priority' | 'state' | 'isHolder' | 'isPreferred'> {
  readonly binary?: string | undefined;
  readonly emulation?: string | undefined;
  readonly priorityUntil?: number | undefined;
  /** One of the words in `losses`; absent for the best candidate. */
  readonly lostBy?: string | undefined;
  readonly renewedAt: number;
}

/** A recent decision, or a problem that began or ended. */
export interface ElectionEntry {
  /** Consecutive, from 1. */
  readonly id: number;
  readonly at: number;
  readonly key: string;
  readonly what: LeaseEvent['reason'];
  readonly isWarning: boolean;
  readonly text: string;
  readonly passedOver: readonly PassedOver[];
  /** Number of further candidates that were not chosen. */
  readonly more: number;
}

/** A candidate that was not chosen, with the reason. */
export type PassedOver = Pick<CandidateEntry, 'name' | 'binary' | 'emulation'> & { readonly lostBy: string };

/** Returns the wall time in milliseconds since the Unix epoch. */
export function wallMs(clock: Pick<Clock, 'wallTime'>): number {
  return Number(clock.wallTime() / 1000n);
}

/** Shorter JSON, in characters, is not searched for long texts. */
const LARGE = 4 * 1024;

/** Encodes a message as JSON. Shortens texts, and escapes characters that hide or reverse text. */
export function pageJson(value: object): string {
  const json = JSON.stringify(value);
  const isHarmless = json.length <= LARGE && printableJson(json) === json;
  if (isHarmless) return json;
  return JSON.stringify(bounded(value), (_, each) => (typeof each === 'string' ? printable(each) : each));
}
