import type { WriteEvent } from '../controller/controller-event.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import { changesCluster, type Decision, grantOf } from '../election/decision.ts';
import type { ElectionInput } from '../election/view.ts';
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

/** Limits of a {@link Timeline}. */
export interface TimelineLimits {
  readonly entries: number;
  /** Maximum candidates in one entry. The others are counted. */
  readonly candidates: number;
}

const DEFAULT_LIMITS: TimelineLimits = { entries: 200, candidates: MAX_NAMED };

/** The recent decisions and writes of this replica, and the problems that began or ended. */
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

  /** The id of the newest entry; 0 for none. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Returns the remembered entries after this id, oldest first. */
  after(id: number): readonly ElectionEntry[] {
    return this.#entries.filter((entry) => entry.id > id);
  }

  /** Records a write that has succeeded. */
  applied({ key, decision, input, lease }: Omit<WriteEvent, 'type' | 'action' | 'error'>): void {
    if (!changesCluster(decision)) return;
    if (grantOf(decision)) this.#troubles.granted(key);
    for (const event of changeEvents(decision, input, lease)) this.#add(key, event, decision);
  }

  /** Records a problem when it begins. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
    const { resolvedTo, began } = this.#troubles.decided(key, decision);
    if (resolvedTo !== undefined) this.#add(key, resolutionEvent(resolvedTo, input), decision);
    // A write is recorded once it has succeeded.
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
