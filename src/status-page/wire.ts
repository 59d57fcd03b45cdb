import type { Reason } from '../election/decision.ts';
import type { CandidateState } from '../election/view.ts';
import { bounded, printable, printableJson } from '../support/text.ts';
import type { LeaseEvent } from '../telemetry/lease-event.ts';

/** A candidate of a Lease. */
export interface CandidateEntry {
  readonly name: string;
  /** Absent if the candidate has none. */
  readonly binary?: string;
  readonly emulation?: string;
  /** Absent if the priority is 0 without an end. */
  readonly priority?: number;
  /** The end of the priority, in milliseconds since the Unix epoch; absent if there is none. */
  readonly priorityUntil?: number;
  readonly state: CandidateState;
  /** A word of the catalogue's `losses`; absent for the best candidate. */
  readonly lostBy?: string;
  readonly isHolder?: true;
  readonly isPreferred?: true;
  /** The last observed renewal, in milliseconds since the Unix epoch. */
  readonly renewedAt: number;
}

/** The state of a Lease. Time alone does not change an entry. */
export interface LeaseEntry {
  /** `namespace/name` */
  readonly key: string;
  /** The holderIdentity, valid or not; empty for none. */
  readonly holder: string;
  readonly isHeld: boolean;
  /** Set if there are candidates but no valid holder. */
  readonly isUnled?: true;
  /** When the Lease lost its leader, in milliseconds since the Unix epoch; absent if that was not observed. */
  readonly unledSince?: number;
  readonly preferredHolder?: string;
  readonly strategy: string;
  readonly reason: Reason;
  /** Absent if the Lease waits for nothing. */
  readonly waitingFor?: string;
  /** The leader and the reason, in words. */
  readonly verdict: string;
  readonly transitions: number;
  /** Best candidate first; limited to what a page can show. */
  readonly candidates: readonly CandidateEntry[];
  /** Number of candidates that are not shown, by state; absent for none. */
  readonly more?: Readonly<Partial<Record<CandidateState, number>>>;
}

/** An entry of the timeline. */
export interface ElectionEntry {
  /** Consecutive, from 1. */
  readonly id: number;
  /** In milliseconds since the Unix epoch. */
  readonly at: number;
  readonly key: string;
  /** The reason of the Event. */
  readonly what: LeaseEvent['reason'];
  readonly isWarning: boolean;
  /** The reason of the decision. */
  readonly reason: Reason;
  readonly text: string;
  /** The candidates that were not chosen, and why. */
  readonly passedOver: readonly PassedOver[];
  /** Number of further candidates that were not chosen. */
  readonly more: number;
}

/** A candidate that was not chosen. */
export type PassedOver = Required<Pick<CandidateEntry, 'name' | 'lostBy'>> &
  Pick<CandidateEntry, 'binary' | 'emulation'>;

/** The meaning of a reason. */
export interface ReasonEntry {
  readonly meaning: string;
  /** Advice; absent if there is nothing to do. */
  readonly advice?: string;
  /** Set if users must know that the Lease stays in this state; `warn` if a user must act. */
  readonly trouble?: 'info' | 'warn';
  /** Set if the reason is one step of an election. */
  readonly isStep?: true;
}

/** The first message of a connection: the meaning of all words. Data from before this message may be outdated. */
export interface HelloMessage {
  readonly version: string;
  /** When this replica started, in milliseconds since the Unix epoch. It has no earlier entries. */
  readonly startedAt: number;
  readonly dryRun: boolean;
  /** Empty for all namespaces. */
  readonly namespaces: readonly string[];
  readonly reasons: Readonly<Record<Reason, ReasonEntry>>;
  readonly states: Readonly<Record<CandidateState, string>>;
  readonly losses: Readonly<Record<string, string>>;
  /** Advice if the API server does not serve LeaseCandidates. */
  readonly notServedAdvice: string;
}

/** The state of the replica that serves the page. */
export interface StateMessage {
  /** `dryRun` has no lock. The other values are states of the lock. */
  readonly replica: 'dryRun' | 'standby' | 'waiting' | 'settling' | 'active';
  /** The holder of the coordinator's lock, if known. */
  readonly lockHolder?: string;
  /** `unknown` before discovery. */
  readonly api: 'unknown' | 'served' | 'notServed';
  /** Whether the first lists are complete. */
  readonly hasSynced: boolean;
  /**
   * Since when the caches get no changes, in milliseconds since the Unix epoch; absent while they get changes, and before
   * the first sync.
   */
  readonly blindSince?: number;
}

/** New and changed Leases, and deleted ones. */
export interface LeasesMessage {
  readonly changed: readonly LeaseEntry[];
  readonly gone: readonly string[];
}

/** Sent when the first copy is complete: no other Leases exist. */
interface CompleteMessage {
  readonly leases: number;
}

/** Sent at the start, and while there is nothing else to send. */
interface BeatMessage {
  /** The replica's wall clock, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The messages of the stream, by event name. */
export interface Messages {
  readonly hello: HelloMessage;
  readonly state: StateMessage;
  readonly leases: LeasesMessage;
  readonly elections: readonly ElectionEntry[];
  readonly complete: CompleteMessage;
  readonly beat: BeatMessage;
}

/** JSON longer than this is checked for long texts. In characters. */
const LARGE = 4 * 1024;

/**
 * Encodes a message as JSON. Long texts are shortened, and characters that hide or reverse text are escaped. The page never
 * inserts text as markup.
 */
export function pageJson(value: object): string {
  const json = JSON.stringify(value);
  const isHarmless = json.length <= LARGE && printableJson(json) === json;
  return isHarmless ? json : JSON.stringify(bounded(value), (_, each) => shown(each));
}

function shown(value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}
