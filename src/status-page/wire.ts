import type { Reason } from '../election/reason.ts';
import type { CandidateState } from '../election/standing.ts';
import { bounded, printable, printableJson } from '../support/text.ts';
import type { LeaseEvent } from '../telemetry/lease-event.ts';

/** One candidate of a Lease, as the page shows it. */
export interface CandidateEntry {
  readonly name: string;
  /** Absent: it names none. */
  readonly binary?: string;
  readonly emulation?: string;
  /** Absent: 0, for good. */
  readonly priority?: number;
  /** When that ends, in milliseconds since the Unix epoch; absent: it lasts. */
  readonly priorityUntil?: number;
  readonly state: CandidateState;
  /** A word of the catalogue's `losses`; absent for the best. */
  readonly lostBy?: string;
  readonly isHolder?: true;
  readonly isPreferred?: true;
  /** When it was last seen to renew, in milliseconds since the Unix epoch. */
  readonly renewedAt: number;
}

/** How one Lease stands. Nothing in it changes by the mere passing of time. */
export interface LeaseEntry {
  /** `namespace/name` */
  readonly key: string;
  /** Whoever the Lease names, valid or not; '' for nobody. */
  readonly holder: string;
  readonly isHeld: boolean;
  /** Set where there are candidates but no valid holder. */
  readonly isUnled?: true;
  /** When it was seen to lose its leader, in milliseconds since the Unix epoch; absent where nobody saw that. */
  readonly unledSince?: number;
  readonly preferredHolder?: string;
  readonly strategy: string;
  readonly reason: Reason;
  /** Absent: nothing. */
  readonly waitingFor?: string;
  /** Who leads and why, in words. */
  readonly verdict: string;
  readonly transitions: number;
  /** In the order in which they would lead; not more than a page can show. */
  readonly candidates: readonly CandidateEntry[];
  /** How many there are beyond those, by their state; absent where there are none. */
  readonly more?: Readonly<Partial<Record<CandidateState, number>>>;
}

/** Something that happened in an election. */
export interface ElectionEntry {
  /** Counts up from 1 in the order in which things happened. */
  readonly id: number;
  /** In milliseconds since the Unix epoch. */
  readonly at: number;
  readonly key: string;
  /** What happened, by the name of its Event. */
  readonly what: LeaseEvent['reason'];
  readonly isWarning: boolean;
  /** The reason of the decision that it came from. */
  readonly reason: Reason;
  readonly text: string;
  /** The candidates that were not chosen, and why. */
  readonly passedOver: readonly PassedOver[];
  /** How many more there are than `passedOver` tells. */
  readonly more: number;
}

/** A candidate that was not chosen. */
export type PassedOver = Required<Pick<CandidateEntry, 'name' | 'lostBy'>> &
  Pick<CandidateEntry, 'binary' | 'emulation'>;

/** What a reason means. */
export interface ReasonEntry {
  readonly meaning: string;
  /** What to do about it; absent where nothing needs doing. */
  readonly advice?: string;
  /** Set where the Lease is left in a state that its users must know of; `warn` where somebody has to do something. */
  readonly trouble?: 'info' | 'warn';
  /** Set for one step of something that goes on. */
  readonly isStep?: true;
}

/** The first message of a connection: what the words of the others mean. Everything shown before it may be outdated. */
export interface HelloMessage {
  readonly version: string;
  /** When this replica started, in milliseconds since the Unix epoch: it tells of no election before that. */
  readonly startedAt: number;
  readonly dryRun: boolean;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly reasons: Readonly<Record<Reason, ReasonEntry>>;
  readonly states: Readonly<Record<CandidateState, string>>;
  readonly losses: Readonly<Record<string, string>>;
  /** What to do where the API server does not serve LeaseCandidates. */
  readonly notServedAdvice: string;
}

/** Where the replica that serves the page stands. */
export interface StateMessage {
  /** `dryRun`: it has no part in the lock. The others are those of the lock. */
  readonly replica: 'dryRun' | 'standby' | 'waiting' | 'settling' | 'active';
  /** Who holds the coordinator's lock, if anybody is known to. */
  readonly lockHolder?: string;
  /** `unknown`: the server was not asked yet. */
  readonly api: 'unknown' | 'served' | 'notServed';
  /** Whether it has listed all there is. */
  readonly hasSynced: boolean;
  /** Since when it sees no changes, in milliseconds since the Unix epoch; absent while it does, and before it has synced. */
  readonly blindSince?: number;
}

/** Leases that are new or have changed, and those that are gone. */
export interface LeasesMessage {
  readonly changed: readonly LeaseEntry[];
  readonly gone: readonly string[];
}

/** Told once the connection has caught up: what was not told of by then is not there. */
interface CompleteMessage {
  readonly leases: number;
}

/** Told at the start, and when there is nothing else to tell. */
interface BeatMessage {
  /** The replica's wall clock, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/** Every message of the stream, by the name of its event. */
export interface Messages {
  readonly hello: HelloMessage;
  readonly state: StateMessage;
  readonly leases: LeasesMessage;
  readonly elections: readonly ElectionEntry[];
  readonly complete: CompleteMessage;
  readonly beat: BeatMessage;
}

/** Above, it is looked at whether some text is longer than anybody reads. In characters. */
const LARGE = 4 * 1024;

/**
 * What the page gets, in JSON. The page takes text for text; here it is seen to that none of it is endless, and that none of
 * it hides or turns around what stands beside it: of that, the page shows the numbers.
 */
export function pageJson(value: object): string {
  const json = JSON.stringify(value);
  const isHarmless = json.length <= LARGE && printableJson(json) === json;
  return isHarmless ? json : JSON.stringify(bounded(value), (_, each) => shown(each));
}

function shown(value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}
