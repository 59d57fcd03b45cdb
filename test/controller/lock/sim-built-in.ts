import type { LockStorage } from '../../../src/controller/lock/lock-storage.ts';
import { isConflict } from '../../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../../src/support/clock.ts';

const LEASE_SECONDS = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2000;
/** It passes half of 10 ns to client-go, by mistake, and gets the minimum. */
const CALL_TIMEOUT_MS = 1000;

/**
 * The lock of the controller built into kube-apiserver: a plain elector that leads until it has failed to renew for
 * its renew deadline. The deadline counts from the retry after its last success, whatever it observes in the
 * meantime.
 */
export class SimBuiltIn {
  readonly #clock: Clock;
  readonly #storage: LockStorage;
  readonly #identity: string;
  #lease: KubernetesObject | undefined;
  #seen = '';
  #seenAt: Instant = 0;
  #leadsUntil: Instant = Number.NEGATIVE_INFINITY;
  #renewals = 0;
  #crashed = false;

  readonly #onDuty: (until: Instant | undefined) => void;

  /** @param onDuty receives until when it leads unless it renews before; undefined: it does not lead */
  constructor(
    clock: Clock,
    storage: LockStorage,
    identity: string,
    onDuty: (until: Instant | undefined) => void = () => {},
  ) {
    this.#onDuty = onDuty;
    this.#clock = clock;
    this.#storage = storage;
    this.#identity = identity;
  }

  /** Whether it may write now. */
  isActive(): boolean {
    return this.#clock.now() < this.#leadsUntil;
  }

  async run(): Promise<void> {
    while (!this.#crashed) {
      try {
        if (await this.#acquireOrRenew()) {
          this.#leadsUntil = this.#clock.now() + RETRY_MS + RENEW_DEADLINE_MS;
          this.#onDuty(this.#leadsUntil);
        }
      } catch (error) {
        // It renews the version that it last wrote, and reads again only if that is outdated.
        if (isConflict(error) || !this.isActive()) this.#lease = undefined;
      }
      await new Promise<void>((resolve) => this.#clock.setTimer(resolve, RETRY_MS));
    }
  }

  crash(): void {
    this.#crashed = true;
    this.#leadsUntil = Number.NEGATIVE_INFINITY;
    this.#onDuty(undefined);
  }

  async #acquireOrRenew(): Promise<boolean> {
    if (!(this.isActive() && this.#lease)) this.#lease = await this.#withDeadline(this.#storage.get());
    const lease = this.#lease;
    const spec = (lease?.['spec'] ?? {}) as Readonly<Record<string, unknown>>;
    const record = JSON.stringify(spec);
    if (record !== this.#seen) {
      this.#seen = record;
      this.#seenAt = this.#clock.now();
    }
    const holder = spec['holderIdentity'] ?? '';
    const expired = this.#clock.now() >= this.#seenAt + Number(spec['leaseDurationSeconds'] ?? 0) * 1000;
    if (holder !== '' && holder !== this.#identity && !expired) {
      this.#lease = undefined;
      return false;
    }
    // As in client-go: each new holder is a transition.
    const isTaken = lease !== undefined && holder !== this.#identity;
    const renewed = {
      ...(lease ?? { metadata: { name: 'lock' } }),
      spec: {
        ...spec,
        leaseTransitions: Number(spec['leaseTransitions'] ?? 0) + (isTaken ? 1 : 0),
        holderIdentity: this.#identity,
        leaseDurationSeconds: LEASE_SECONDS,
        renewTime: `${this.#identity} ${this.#renewals++}`,
      },
    };
    this.#lease = await this.#withDeadline(
      lease ? this.#storage.update(renewed) : this.#storage.create(renewed),
    );
    this.#seen = JSON.stringify(this.#lease['spec']);
    this.#seenAt = this.#clock.now();
    return true;
  }

  async #withDeadline<T>(answer: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#clock.setTimer(() => reject(new Error('no answer')), CALL_TIMEOUT_MS);
    try {
      return await Promise.race([answer, promise]);
    } finally {
      cancel();
    }
  }
}
