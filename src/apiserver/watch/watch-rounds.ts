import type { Clock } from '../../support/clock.ts';
import type { ObjectStore } from '../storage/object-store.ts';

/** A watcher that takes part in rounds. */
export interface Watcher {
  /** Sends one batch. Returns whether there is more to send. */
  advance(): boolean;
}

/** How long a round may take, in ms. */
const ROUND_MS = 10;

/**
 * Advances the watchers of one kind of object in rounds. All writes in one turn of the event loop cause one round. A long
 * initial state does not delay other watchers.
 */
export class WatchRounds {
  /** The shared batches of one round. */
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

  /** Called after a write. */
  wakeAll(): void {
    if (this.#watchers.size === 0) return;
    this.#isEveryoneDue = true;
    this.#setRound();
  }

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
    this.#clock.setTimer(() => this.#runRound(), 0);
  }

  #runRound(): void {
    const until = this.#clock.now() + ROUND_MS;
    // Continue with the watchers that the last round did not reach.
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

/** Returns the rounds of a store for one kind of object. */
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
 * Joins lines into batches. Watchers of one view with the same events share the bytes: with thousands of watchers,
 * copying would dominate the cost.
 */
export class LineBatches {
  readonly #byFirstLine = new Map<Buffer, { readonly lines: readonly Buffer[]; readonly joined: Buffer }>();

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
