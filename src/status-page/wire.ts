import type { Reason } from '../election/decision.ts';
import type { CandidateState } from '../election/view.ts';
import type { LeaseStatus, RankedCandidate } from '../inspection/lease-status.ts';
import type { Clock } from '../support/clock.ts';
import { bounded, printable, printableJson } from '../support/text.ts';
import type { LeaseEvent } from '../telemetry/lease-event.ts';

// The messages that a replica streams to the page. All times are in milliseconds since the Unix epoch, by the clock of
// the replica.

export interface Messages {
  readonly hello: HelloMessage;
  readonly state: StateMessage;
  /** New and changed Leases, and the keys of the Leases that the page must remove. */
  readonly leases: { readonly changed: readonly LeaseEntry[]; readonly gone: readonly string[] };
  readonly elections: readonly ElectionEntry[];
  /** Sent once, when the replica has sent every Lease. `leases` is the number of Leases that the page then has. */
  readonly complete: { readonly leases: number };
  /** Sent at the start, and after 10 s without another message. `now` is the current time of the replica. */
  readonly beat: { readonly now: number };
  /** The only message of a refused stream. The replica refuses a stream if too many pages are open, for example. */
  readonly refused: { readonly why: string };
}

/** The first message of an accepted stream. Describes the replica, and explains values in later messages. */
export interface HelloMessage {
  readonly version: string;
  /** When this replica started. The replica does not know earlier elections. */
  readonly startedAt: number;
  /** The namespaces that the replica watches; empty for all namespaces. */
  readonly namespaces: readonly string[];
  /** Advice for the reasons that a user can act on. */
  readonly advice: Readonly<Partial<Record<Reason, string>>>;
  readonly states: Readonly<Record<CandidateState, string>>;
  readonly losses: Readonly<Record<string, string>>;
  readonly notServedAdvice: string;
}

export interface StateMessage {
  /** `dryRun`: the replica does not compete for the lock. The other values are the kinds of a `LockState`. */
  readonly replica: 'dryRun' | 'standby' | 'waiting' | 'settling' | 'active';
  readonly lockHolder?: string | undefined;
  /** Whether the API server serves LeaseCandidates, as last known. Becomes `served` after the replica has read them. */
  readonly api: 'unknown' | 'served' | 'notServed';
  /** Whether all watched Leases, and all candidates of available sources, are cached. False if no source is available. */
  readonly hasSynced: boolean;
  /**
   * When a watch of the replica was interrupted. The replica misses changes until it restarts the watch. Absent while
   * all watches work, during the first 3 s of an interruption, and while `hasSynced` is false.
   */
  readonly blindSince?: number | undefined;
}

/** Summarises a Lease, a candidate or an election. Each tone has its own colour and, in the grid, its own shape. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

/** The state of a Lease. Contains times, not ages, so that entries rarely change. Only `waitingFor` may count seconds. */
export interface LeaseEntry
  extends Pick<LeaseStatus, 'holder' | 'isHeld' | 'preferredHolder' | 'strategy' | 'reason'> {
  readonly key: string;
  /** Why the holder is not valid. Absent if it is valid, or if there is no holder. */
  readonly holderNote?: string | undefined;
  readonly isUnled: boolean;
  /** The time since which the Lease counts as unled; absent if `isUnled` is false, or if this time is unknown. */
  readonly unledSince?: number | undefined;
  readonly tone: Tone;
  readonly waitingFor?: string | undefined;
  readonly verdict: string;
  readonly transitions: number;
  /** The best candidates, the best one first. At most `MAX_CANDIDATES`. */
  readonly candidates: readonly CandidateEntry[];
  /** Number of all candidates, including the candidates that are not in `candidates`. */
  readonly total: number;
  /** Number of candidates whose state is `Unresponsive` or `Expired`. */
  readonly silent: number;
}

export interface CandidateEntry
  extends Pick<RankedCandidate, 'name' | 'priority' | 'state' | 'isHolder' | 'isPreferred'> {
  readonly binary?: string | undefined;
  readonly emulation?: string | undefined;
  readonly priorityUntil?: number | undefined;
  /** Why this candidate is not the best one: a key of `HelloMessage.losses`. Absent for the best candidate. */
  readonly lostBy?: string | undefined;
  readonly renewedAt: number;
}

/** An entry of the timeline: a successful write except a ping, the beginning of a problem, or the end of a conflict. */
export interface ElectionEntry {
  /** The number of the entry. Entries are numbered from 1, without gaps. */
  readonly id: number;
  readonly at: number;
  readonly key: string;
  readonly what: LeaseEvent['reason'];
  readonly isWarning: boolean;
  readonly text: string;
  readonly passedOver: readonly PassedOver[];
  /** Number of the candidates that were not chosen and are not in `passedOver`. */
  readonly more: number;
}

/** A candidate that was not chosen, with the reason. */
export type PassedOver = Pick<CandidateEntry, 'name' | 'binary' | 'emulation'> & { readonly lostBy: string };

export function wallMs(clock: Pick<Clock, 'wallTime'>): number {
  return Number(clock.wallTime() / 1000n);
}

/** Maximum number of characters in a small message. {@link pageJson} shortens long texts in every larger message. */
const MAX_SMALL_CHARACTERS = 4 * 1024;

/**
 * Encodes a message as JSON. Escapes characters that hide or reverse text, and shortens long texts. Leaves a small
 * message without such characters unchanged.
 */
export function pageJson(value: object): string {
  const json = JSON.stringify(value);
  const isHarmless = json.length <= MAX_SMALL_CHARACTERS && printableJson(json) === json;
  if (isHarmless) return json;
  return JSON.stringify(bounded(value), (_, each) => (typeof each === 'string' ? printable(each) : each));
}
