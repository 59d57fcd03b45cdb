import { ApiError } from '../errors/api-error.ts';
import type { StoredObject, StoreEvent } from './stored-objects.ts';

export interface HistoryLimits {
  readonly events: number;
  /** Size of all states in the events, before and after, in characters of JSON. One object may have 1.5 MB. */
  readonly characters: number;
}

/**
 * The latest events of one kind of object. All watchers share them: a watcher stores only a position. Positions count
 * events from 0 and are never reused.
 */
export class History {
  readonly #limits: HistoryLimits;
  /** A ring buffer. The index of an event is its position modulo the limit. */
  readonly #events: (StoreEvent | undefined)[] = [];
  #start = 0;
  #end = 0;
  #characters = 0;
  #since: number;

  /** @param since the history receives every event after this revision */
  constructor(limits: HistoryLimits, since: number) {
    this.#limits = limits;
    this.#since = since;
  }

  /** The earliest revision after which all events are known. */
  get since(): number {
    return this.#since;
  }

  /** The position of the next event. */
  get end(): number {
    return this.#end;
  }

  /** Adds an event with a higher revision than all others. May drop the oldest events. */
  append(event: StoreEvent): void {
    if (this.#end - this.#start === this.#limits.events) this.#drop();
    this.#events[this.#end % this.#limits.events] = event;
    this.#end++;
    this.#characters += charactersOf(event);
    while (this.#characters > this.#limits.characters && this.#start < this.#end - 1) this.#drop();
    const oldest = this.#events[this.#start % this.#limits.events];
    // As in kube-apiserver, revisions between the dropped event and the oldest kept event count as gone.
    if (this.#start > 0 && oldest) this.#since = oldest.stored.revision - 1;
  }

  /**
   * Returns the position of the first event after a revision, which may be in the future; `expired` if some events are
   * gone.
   */
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

  /** Returns the event at a position; undefined if the event has not happened yet. */
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

/** Returns the states of the changed objects before their first event since `position`. */
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

/** Some events after `revision` are gone. All events after `since` are known. */
export function revisionTooOld(revision: number, since: number): ApiError {
  return new ApiError(410, 'Expired', `too old resource version: ${revision} (${since})`);
}

/** `revision` is in the future. */
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
