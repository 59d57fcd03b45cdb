import type { Clock } from '../../support/clock.ts';
import type { ObjectStore } from '../storage/object-store.ts';

/** Somebody who is told when there may be something to send. */
export interface Watcher {
  /** Sends some of what there is, so little that it holds up nobody. Returns whether it wants to go on at once. */
  advance(): boolean;
}

/** How long a round may take, in milliseconds: then others have their turn. */
const ROUND_MS = 10;

/**
 * Goes through the watchers of one kind of object, so that many writes in one turn of the event loop cost one round and
 * not one each, and so that nobody's long list keeps the others waiting.
 */
export class WatchRounds {
  /** What the watchers of one round have in common. */
  readonly batches = new LineBatches();
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();
  readonly #due = new Set<Watcher>();
  #isEveryoneDue = false;
  #isRoundSet = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
  }

  remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    this.#due.delete(watcher);
  }

  /** Something was written. */
  wakeAll(): void {
    if (this.#watchers.size === 0) return;
    this.#isEveryoneDue = true;
    this.#setRound();
  }

  /** Gives one watcher its turn at once. */
  advance(watcher: Watcher): void {
    if (watcher.advance()) this.wake(watcher);
    this.batches.forget();
  }

  wake(watcher: Watcher): void {
    this.#due.add(watcher);
    this.#setRound();
  }

  #setRound(): void {
    if (this.#isRoundSet) return;
    this.#isRoundSet = true;
    this.#clock.setTimer(() => this.#goRound(), 0);
  }

  #goRound(): void {
    const until = this.#clock.now() + ROUND_MS;
    // Those that the last round did not come to are the first of this one.
    if (this.#isEveryoneDue) for (const watcher of this.#watchers) this.#due.add(watcher);
    this.#isEveryoneDue = false;
    this.#isRoundSet = false;
    for (const watcher of [...this.#due]) {
      this.#due.delete(watcher);
      if (watcher.advance()) this.#due.add(watcher);
      if (this.#clock.now() >= until) break;
    }
    if (this.#due.size > 0) this.#setRound();
    this.batches.forget();
  }
}

const roundsByStore = new WeakMap<ObjectStore, Map<string, WatchRounds>>();

/** The one instance for this kind of object in this store, which lives as long as the store. */
export function watchRounds(store: ObjectStore, storage: string, clock: Clock): WatchRounds {
  let rounds = roundsByStore.get(store);
  if (rounds === undefined) {
    rounds = new Map();
    roundsByStore.set(store, rounds);
  }
  const known = rounds.get(storage);
  if (known) return known;
  const created = new WatchRounds(clock);
  rounds.set(storage, created);
  store.onChange(storage, () => created.wakeAll());
  return created;
}

/**
 * Joins lines into what is written in one go. Watchers of one view that are told of the same events are given the same
 * bytes: copying them for each of thousands would cost more than all the rest.
 */
export class LineBatches {
  readonly #byFirstLine = new Map<Buffer, { readonly lines: readonly Buffer[]; readonly joined: Buffer }>();

  /** `lines` is not empty, and not changed afterwards. */
  join(lines: readonly [Buffer, ...Buffer[]]): Buffer {
    if (lines.length === 1) return lines[0];
    const known = this.#byFirstLine.get(lines[0]);
    if (known?.lines.length === lines.length && known.lines.every((line, index) => line === lines[index])) {
      return known.joined;
    }
    const joined = Buffer.concat(lines);
    this.#byFirstLine.set(lines[0], { lines, joined });
    return joined;
  }

  forget(): void {
    this.#byFirstLine.clear();
  }
}
