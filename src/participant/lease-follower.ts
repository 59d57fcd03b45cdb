import { decodeLease, PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import type { RequestBody } from '../coordination/lease-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, isConflict } from '../kubernetes/errors.ts';
import {
  isKubernetesObject,
  isNotNewer,
  isOlderVersion,
  type KubernetesObject,
} from '../kubernetes/objects.ts';
import type { Reflector } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { type LeaseSight, observe } from './lease-sight.ts';
import { type ParticipantLogger, TroubleLog } from './participant-log.ts';
import type { Term } from './term.ts';
import { watchOne } from './watch-one.ts';

/** What a {@link LeaseFollower} needs. Callbacks must not throw. */
export interface LeaseFollowerParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly lease: Term['lease'];
  readonly logger: ParticipantLogger;
  /** For each request, in milliseconds. */
  readonly deadlineMs: number;
  /** What is known of the Lease has changed. */
  readonly onSeen: () => void;
}

/** Keeps in sight what one Lease is, and writes it on the state in which it was last seen. */
export class LeaseFollower {
  readonly #parts: LeaseFollowerParts;
  readonly #path: string;
  readonly #watch: Reflector<KubernetesObject>;
  readonly #synced = Promise.withResolvers<void>();
  #raw: KubernetesObject | undefined;
  #sight: LeaseSight | undefined;

  constructor(parts: LeaseFollowerParts) {
    const { client, clock, lease, logger } = parts;
    this.#parts = parts;
    this.#path = resourcePaths.lease(lease.namespace, lease.name);
    this.#watch = watchOne({
      client,
      clock,
      path: resourcePaths.leases(lease.namespace),
      name: lease.name,
      trouble: new TroubleLog(logger, 'Cannot watch the Lease'),
      onChange: (isDeleted, object) => this.#hear(isDeleted, object),
      onSynced: () => {
        if (!this.#sight) this.#see(undefined, clock.now());
        this.#synced.resolve();
      },
    });
  }

  /** Undefined: nothing is known of the Lease yet. */
  get sight(): LeaseSight | undefined {
    return this.#sight;
  }

  /** Resolves once it is known what the Lease is, or that there is none. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#watch.start();
  }

  async stop(): Promise<void> {
    await this.#watch.stop();
  }

  /**
   * Writes what `change` makes of the Lease in the state that it was last seen in; resolves with when that was sent. Where
   * that is not its state any more it is read, and the promise rejects.
   */
  async write(change: (lease: KubernetesObject) => RequestBody, deadlineMs: number): Promise<Instant> {
    const { client, clock } = this.#parts;
    if (!this.#raw) throw new Error('there is no Lease to write');
    const sentAt = clock.now();
    try {
      const answer = await client.request({
        method: 'PUT',
        path: this.#path,
        query: { fieldManager: PARTICIPANT_FIELD_MANAGER },
        body: change(this.#raw),
        deadlineMs,
      });
      // The watch may have shown that, or even what came after it, by now.
      if (isKubernetesObject(answer) && !isNotNewer(answer, this.#raw)) this.#see(answer, sentAt);
      return sentAt;
    } catch (error) {
      if (isConflict(error)) await this.#look();
      throw error;
    }
  }

  #hear(isDeleted: boolean, object: KubernetesObject): void {
    const { clock } = this.#parts;
    // From before an answer to a write of ours: it was late, or storage was set back. The server knows.
    if (isOlderVersion(object.metadata.resourceVersion, this.#raw?.metadata.resourceVersion))
      void this.#look();
    else if (isDeleted) this.#see(undefined, clock.now());
    else if (!isNotNewer(object, this.#raw)) this.#see(object, clock.now());
  }

  /** Reads the Lease, unless something newer is told meanwhile. Never rejects. */
  async #look(): Promise<void> {
    const { client, clock, deadlineMs, logger } = this.#parts;
    const known = this.#raw;
    const answer = await client
      .request({ method: 'GET', path: this.#path, deadlineMs })
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return undefined;
        logger.warn({ err: error }, 'Cannot read the Lease');
        return this.#raw;
      });
    if (this.#raw !== known || answer === known) return;
    this.#see(isKubernetesObject(answer) ? answer : undefined, clock.now());
  }

  #see(raw: KubernetesObject | undefined, at: Instant): void {
    this.#raw = raw;
    this.#sight = observe(this.#sight, raw && decodeLease(raw), at);
    this.#parts.onSeen();
  }
}
