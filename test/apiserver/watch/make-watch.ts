import { ObjectStore } from '../../../src/apiserver/storage/object-store.ts';
import { createEventEncoder } from '../../../src/apiserver/watch/event-encoder.ts';
import { startWatch, type WatchOptions } from '../../../src/apiserver/watch/served-watch.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { PacedSink } from './paced-sink.ts';

export const plainEncoder = createEventEncoder('plain', (object) => object, {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  spec: {},
});

/** Even the shortest of its timers takes a millisecond, like the system's: other work can come before a round. */
class CoarseClock extends VirtualClock {
  override setTimer(callback: () => void, delayMs: number): () => void {
    return super.setTimer(callback, Math.max(1, delayMs));
  }
}

/** A store with its clock, and watches on its leases. */
export class WatchedStore {
  readonly clock = new CoarseClock();
  readonly store: ObjectStore;

  constructor(historyLimit = 10_000) {
    this.store = new ObjectStore({ historyLimit });
  }

  /** All changes after the present revision, for an hour, without bookmarks, by a client that reads at once. */
  watch(options: Partial<Omit<WatchOptions, 'sink'>> = {}, sink = new PacedSink()): PacedSink {
    startWatch({
      store: this.store,
      storage: 'leases',
      clock: this.clock,
      sink,
      from: { kind: 'revision', revision: this.store.revision },
      selects: () => true,
      encode: plainEncoder,
      bookmarks: false,
      timeoutMs: 3_600_000,
      ...options,
    });
    return sink;
  }

  /** Sends everything that can be sent. */
  settle(): Promise<void> {
    return this.clock.advance(10);
  }
}
