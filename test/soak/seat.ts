import { leasePath, microTime } from '../control-plane/cluster-objects.ts';
import type { WatchedLease } from '../control-plane/watched-objects.ts';
import { type Ask, isOk } from './ask.ts';
import { isNewer, releaseLease } from './program.ts';

/** The lease duration of Kubernetes' components. */
const LEASE_DURATION_SECONDS = 15;
/** client-go reads the Lease 2.0 to 4.4 s after its last read. */
const LONGEST_LOOK_MS = 4_400;
/**
 * client-go renews every 2 s. With 500 Leases, that would leave no capacity of a small machine to the tested
 * coordinator.
 */
const RENEW_EVERY_MS = 5_000;
const RETRY_MS = 2_000;
/** A holder that sees another preferredHolder yields after client-go's renew deadline. */
const YIELD_AFTER_MS = 10_000;

/** A Lease, and the elector of its holder. */
export class Seat {
  readonly namespace: string;
  readonly lease: string;
  readonly #ask: Ask;
  #object: WatchedLease | undefined;
  /** When the current record was first seen. */
  #seenAt = 0;
  #looksAt = 0;
  #preferredSince: number | undefined;
  #isBusy = false;

  constructor(ask: Ask, namespace: string, lease: string) {
    this.#ask = ask;
    this.namespace = namespace;
    this.lease = lease;
  }

  /** The identity in the Lease; '' for none. */
  get holder(): string {
    return this.#object?.spec.holderIdentity ?? '';
  }

  get path(): string {
    return leasePath({ namespace: this.namespace, name: this.lease });
  }

  /** Whether there is a leader, and no other candidate is preferred. */
  get isInOrder(): boolean {
    const { preferredHolder = '' } = this.#object?.spec ?? {};
    return this.holder !== '' && preferredHolder === '' && !this.#hasExpired(performance.now());
  }

  /** The Lease on the server; undefined if there is none. */
  see(object: WatchedLease | undefined): void {
    if (this.#object && object && !isNewer(object, this.#object)) return;
    const now = performance.now();
    if (object?.spec.holderIdentity !== this.#object?.spec.holderIdentity)
      this.#looksAt = now + Math.random() * LONGEST_LOOK_MS;
    if (!object?.spec.preferredHolder) this.#preferredSince = undefined;
    else this.#preferredSince ??= now;
    this.#object = object;
    this.#seenAt = now;
  }

  /** Performs the due actions of its holder. */
  tick(now: number): void {
    if (now < this.#looksAt || this.#isBusy || !this.#object) return;
    this.#looksAt = now + RETRY_MS;
    if (this.#hasExpired(now)) return;
    if (this.#preferredSince === undefined) void this.#renew(this.#object);
    else if (now - this.#preferredSince > YIELD_AFTER_MS) void this.release();
  }

  /** Empties the Lease. Returns whether the server accepted this. */
  async release(): Promise<boolean> {
    return this.#object !== undefined && this.#write(releaseLease(this.#ask, this.#object));
  }

  async #renew(object: WatchedLease): Promise<void> {
    const spec = { ...object.spec, renewTime: microTime(), leaseDurationSeconds: LEASE_DURATION_SECONDS };
    const isRenewed = await this.#write(this.#ask('PUT', this.path, { ...object, spec }));
    this.#looksAt = performance.now() + (isRenewed ? RENEW_EVERY_MS : RETRY_MS);
  }

  async #write(request: ReturnType<Ask>): Promise<boolean> {
    this.#isBusy = true;
    const outcome = await request;
    this.#isBusy = false;
    if (isOk(outcome)) this.see(outcome.object as WatchedLease);
    return isOk(outcome);
  }

  #hasExpired(now: number): boolean {
    return now > this.#seenAt + 1_000 * (this.#object?.spec.leaseDurationSeconds ?? 0);
  }
}
