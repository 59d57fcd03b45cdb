import type { StoreEvent } from './stored-object.ts';

/**
 * The last events of one kind of object, for all watchers together: each of them is no more than a position in it.
 * Positions count events, from 0 on, and are never used again.
 */
export class History {
  readonly #limit: number;
  /** A ring: the event at a position is at that position modulo the limit. */
  readonly #events: StoreEvent[] = [];
  #end = 0;
  #since: number;

  /** `since`: the revision from which on all events will be in it. `limit`: how many events it keeps. */
  constructor(limit: number, since: number) {
    this.#limit = limit;
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

  /** Adds the next event, whose revision is above those of all others. The oldest one may drop out. */
  append(event: StoreEvent): void {
    this.#events[this.#end % this.#limit] = event;
    this.#end++;
    const oldest = this.#events[this.#start % this.#limit];
    // As the real server does: the revisions of other kinds of objects just before the oldest event count as gone too.
    if (this.#start > 0 && oldest) this.#since = oldest.stored.revision - 1;
  }

  /** The position of the first event after a revision, which may lie in the future; `expired`: not all are known any more. */
  positionAfter(revision: number): number | 'expired' {
    if (revision < this.#since) return 'expired';
    let [low, high] = [this.#start, this.#end];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const event = this.#events[middle % this.#limit];
      if (event && event.stored.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The event at a position; undefined: it has not happened yet. */
  at(position: number): StoreEvent | undefined | 'expired' {
    if (position < this.#start) return 'expired';
    return position < this.#end ? this.#events[position % this.#limit] : undefined;
  }

  get #start(): number {
    return Math.max(0, this.#end - this.#limit);
  }
}
