import type { SeenListener } from '../controller/controller-parts.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Now } from '../election/time.ts';
import type { Clock } from '../support/clock.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import { isCoordinated, lookAtLease } from './lease-entry.ts';
import { pageJson } from './page-json.ts';

/** Who knows the Leases: the controller. */
export interface LeaseSource {
  coordinatedLeases(): Iterable<LeaseKey>;
  gather(key: LeaseKey): ElectionInput;
  subscribe(listener: SeenListener): () => void;
}

interface Row {
  /** The LeaseEntry in JSON. */
  readonly text: string;
  readonly isHeld: boolean;
}

/**
 * Every Lease as the page shows it, kept up to date while it is open, and only then. A Lease is looked at again when
 * something about it has changed, or at the moment at which time alone changes it.
 */
export class Board {
  readonly #clock: Clock;
  readonly #source: LeaseSource;
  readonly #rows = new Map<LeaseKey, Row>();
  /** To be looked at again. */
  #stale = new Set<LeaseKey>();
  /** Those of them that are being looked at: whatever changes meanwhile, and however often, is for the next time. */
  #gathered = new Set<LeaseKey>();
  readonly #deadlines = new DeadlineHeap();
  #isOpen = false;
  #isLoaded = false;
  #unsubscribe = () => {};
  /** What to add to an instant to have milliseconds since the Unix epoch; the same as long as the board is open. */
  #wallOffsetMs = 0;

  constructor(clock: Clock, source: LeaseSource) {
    this.#clock = clock;
    this.#source = source;
  }

  /** Begins to follow the Leases; they come onto the board as {@link refresh} looks at them. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#wallOffsetMs = Number(this.#clock.wallTime() / 1000n) - this.#clock.now();
    for (const key of this.#source.coordinatedLeases()) this.#stale.add(key);
    this.#unsubscribe = this.#source.subscribe((key, isRenewalOnly) => {
      // Until when it holds is on the board already.
      if (!isRenewalOnly || this.#rows.get(key)?.isHeld === false) this.#stale.add(key);
    });
  }

  /** Ends that, and forgets everything. */
  close(): void {
    this.#isOpen = false;
    this.#isLoaded = false;
    this.#unsubscribe();
    this.#rows.clear();
    this.#stale.clear();
    this.#gathered.clear();
    this.#deadlines.clear();
  }

  /** A decision about the Lease was made, or what it wrote was answered. */
  touch(key: LeaseKey): void {
    if (this.#isOpen) this.#stale.add(key);
  }

  /** Has {@link refresh} look at all that may have changed by now, unless it still has other Leases to look at. */
  gatherStale(): void {
    if (this.#gathered.size > 0) return;
    const now = this.#clock.now();
    for (let key = this.#deadlines.popDue(now); key !== undefined; key = this.#deadlines.popDue(now)) {
      this.#stale.add(key);
    }
    [this.#gathered, this.#stale] = [this.#stale, this.#gathered];
  }

  /** Looks at up to `count` of the Leases gathered. Returns those that have changed, the gone ones among them. */
  refresh(count: number): readonly LeaseKey[] {
    const now = { monotonic: this.#clock.now(), wall: this.#clock.wallTime() };
    const changed: LeaseKey[] = [];
    let left = count;
    for (const key of this.#gathered) {
      if (left-- === 0) break;
      this.#gathered.delete(key);
      if (this.#refreshOne(key, now)) changed.push(key);
    }
    if (this.#isOpen && this.#gathered.size === 0) this.#isLoaded = true;
    return changed;
  }

  /** Whether Leases that were gathered have yet to be looked at. */
  get isRefreshing(): boolean {
    return this.#gathered.size > 0;
  }

  /** Whether every Lease that there was when the board was opened has been looked at. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get size(): number {
    return this.#rows.size;
  }

  keys(): Iterable<LeaseKey> {
    return this.#rows.keys();
  }

  /** The Lease's entry in JSON; undefined when it is not on the board. */
  text(key: LeaseKey): string | undefined {
    return this.#rows.get(key)?.text;
  }

  #refreshOne(key: LeaseKey, now: Now): boolean {
    const input = this.#source.gather(key);
    if (!isCoordinated(input)) {
      this.#deadlines.delete(key);
      return this.#rows.delete(key);
    }
    const { entry, until } = lookAtLease(input, now, this.#wallOffsetMs);
    if (until === undefined) this.#deadlines.delete(key);
    else this.#deadlines.set(key, until);
    const text = pageJson(entry);
    if (this.#rows.get(key)?.text === text) return false;
    this.#rows.set(key, { text, isHeld: entry.isHeld });
    return true;
  }
}
