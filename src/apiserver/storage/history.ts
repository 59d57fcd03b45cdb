import { ApiError } from '../errors/api-error.ts';
import type { StoredObject, StoreEvent } from './stored-objects.ts';

/** How much of the past is kept. */
export interface HistoryLimits {
  readonly events: number;
  /** Of all that the events tell of, before and after, in characters of JSON: an object may be as large as 1.5 MB. */
  readonly characters: number;
}

/**
 * The last events of one kind of object, for all watchers together: each of them is no more than a position in it.
 * Positions count events, from 0 on, and are never used again.
 */
export class History {
  readonly #limits: HistoryLimits;
  /** A ring: the event at a position is at that position modulo the limit. */
  readonly #events: (StoreEvent | undefined)[] = [];
  #start = 0;
  #end = 0;
  #characters = 0;
  #since: number;

  /** `since`: the revision from which on all events will be in it. */
  constructor(limits: HistoryLimits, since: number) {
    this.#limits = limits;
    this.#since = since;
  }

  /** The earliest revision after which every event is known. */
  get since(): number {
    return this.#since;
  }

  /** The position of the next event. */
  get end(): number {
    return this.#end;
  }

  /** Adds the next event, whose revision is above those of all others. The oldest ones may drop out. */
  append(event: StoreEvent): void {
    if (this.#end - this.#start === this.#limits.events) this.#drop();
    this.#events[this.#end % this.#limits.events] = event;
    this.#end++;
    this.#characters += charactersOf(event);
    while (this.#characters > this.#limits.characters && this.#start < this.#end - 1) this.#drop();
    const oldest = this.#events[this.#start % this.#limits.events];
    // As the real server does: the revisions of other kinds of objects just before the oldest event count as gone too.
    if (this.#start > 0 && oldest) this.#since = oldest.stored.revision - 1;
  }

  /** The position of the first event after a revision, which may lie in the future; `expired`: not all are known any more. */
  positionAfter(revision: number): number | 'expired' {
    if (revision < this.#since) return 'expired';
    let [low, high] = [this.#start, this.#end];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const event = this.#events[middle % this.#limits.events];
      if (event && event.stored.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The event at a position; undefined: it has not happened yet. */
  at(position: number): StoreEvent | undefined | 'expired' {
    if (position < this.#start) return 'expired';
    return position < this.#end ? this.#events[position % this.#limits.events] : undefined;
  }

  #drop(): void {
    const at = this.#start % this.#limits.events;
    const oldest = this.#events[at];
    if (oldest) this.#characters -= charactersOf(oldest);
    this.#events[at] = undefined;
    this.#start++;
  }
}

function charactersOf({ stored, previous }: StoreEvent): number {
  return stored.characters + (previous?.characters ?? 0);
}

/** What changed from `position` on, as it was before: an object's first event from there on tells that. */
export function statesBefore(
  history: History,
  position: number,
): ReadonlyMap<string, StoredObject | undefined> {
  const before = new Map<string, StoredObject | undefined>();
  for (let next = position; next < history.end; next++) {
    const event = history.at(next);
    if (event === undefined || event === 'expired') break;
    if (!before.has(event.stored.key)) before.set(event.stored.key, event.previous);
  }
  return before;
}

/** What came after `revision` is not all known any more, but what came after `since` is. */
export function revisionTooOld(revision: number, since: number): ApiError {
  return new ApiError(410, 'Expired', `too old resource version: ${revision} (${since})`);
}

/** `revision` has not come about yet. */
export function revisionTooLarge(revision: number, current: number): ApiError {
  return new ApiError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${revision}, current: ${current}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}
