import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Decision } from '../election/decision.ts';
import { changesCluster, grantOf } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Lease } from '../election/model.ts';
import type { Clock } from '../support/clock.ts';
import { resultOf, TroubleWatch } from '../telemetry/election-result.ts';
import {
  changeEvents,
  type LeaseEvent,
  MAX_NAMED,
  nameCandidates,
  resolutionEvent,
  troubleEvent,
} from '../telemetry/lease-event.ts';
import type { ElectionEntry, PassedOver } from './wire.ts';

/** How much is remembered. */
export interface TimelineLimits {
  readonly entries: number;
  /** Candidates told of in one entry, whoever was chosen among them; of the others only their number is. */
  readonly candidates: number;
}

const DEFAULT_LIMITS: TimelineLimits = { entries: 200, candidates: MAX_NAMED };

/** The last things that this replica decided and did, and the troubles that began or ended meanwhile. */
export class Timeline {
  readonly #clock: Pick<Clock, 'wallTime'>;
  readonly #limits: TimelineLimits;
  #entries: readonly ElectionEntry[] = [];
  #lastId = 0;
  readonly #troubles = new TroubleWatch();

  constructor(clock: Pick<Clock, 'wallTime'>, limits: TimelineLimits = DEFAULT_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Of the newest entry; 0 when there is none. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Those that came after the entry of that id, as far as they are remembered, the oldest first. */
  after(id: number): readonly ElectionEntry[] {
    return this.#entries.filter((entry) => entry.id > id);
  }

  /** The writes of a decision have succeeded; see `DecisionObserver`. */
  applied(key: LeaseKey, decision: Decision, input: ElectionInput, lease: Lease | undefined): void {
    if (!changesCluster(decision)) return;
    if (grantOf(decision)) this.#troubles.granted(key);
    for (const event of changeEvents(decision, input, lease)) this.#add(key, event, decision);
  }

  /** A decision was made: a trouble is told once, when it begins. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
    const { resolvedTo, began } = this.#troubles.decided(key, decision);
    if (resolvedTo !== undefined) this.#add(key, resolutionEvent(resolvedTo, input), decision);
    // What is about to be written is told once it is.
    if (began !== undefined && !resultOf(decision)) {
      this.#add(key, troubleEvent(decision, input, began), decision);
    }
  }

  forgotten(key: LeaseKey): void {
    this.#troubles.forgotten(key);
  }

  #add(key: LeaseKey, { type, reason: what, message }: LeaseEvent, decision: Decision): void {
    const { entries, candidates } = this.#limits;
    const { named, more } = nameCandidates(decision, candidates);
    const passedOver = named.flatMap(({ name, lostBy, binaryVersion, emulationVersion }): PassedOver[] =>
      lostBy === undefined
        ? []
        : [
            {
              name,
              lostBy,
              ...(binaryVersion !== undefined && { binary: binaryVersion }),
              ...(emulationVersion !== undefined && { emulation: emulationVersion }),
            },
          ],
    );
    const entry: ElectionEntry = {
      id: ++this.#lastId,
      at: Number(this.#clock.wallTime() / 1000n),
      key,
      what,
      isWarning: type === 'Warning',
      reason: decision.reason,
      text: message,
      passedOver,
      more,
    };
    this.#entries = [...this.#entries, entry].slice(-entries);
  }
}
