import { decodeLease, PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { specOf, timeField } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { MicroTime } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { isConflict, unlessStatus } from '../kubernetes/errors.ts';
import {
  isKubernetesObject,
  isNotNewer,
  isOlderVersion,
  type KubernetesObject,
} from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { type LeaseSight, observe } from './elector-decision.ts';
import { createTroubleLog, type ParticipantLogger } from './participant-telemetry.ts';
import type { Term } from './term.ts';

/** What a follower of one Lease needs. `logger` must not throw. */
export interface LeaseParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly lease: Term['lease'];
  readonly logger: ParticipantLogger;
}

interface LeaseFollowerParts extends LeaseParts {
  /** Deadline of each write of the Lease, and of each read outside the watch, in milliseconds. */
  readonly deadlineMs: number;
  /** Called after each change of `sight`. Must not throw. */
  readonly onSeen: () => void;
}

export class LeaseFollower {
  readonly #parts: LeaseFollowerParts;
  readonly #path: string;
  readonly #watch: Reflector<KubernetesObject>;
  readonly #synced = Promise.withResolvers<void>();
  /** Resolves after the Lease was read for the first time, or was found missing. */
  readonly synced: Promise<void> = this.#synced.promise;
  #raw: KubernetesObject | undefined;
  #sight: LeaseSight | undefined;

  constructor(parts: LeaseFollowerParts) {
    const { client, clock, lease, logger } = parts;
    const trouble = createTroubleLog(logger, 'Cannot watch the Lease');
    this.#parts = parts;
    this.#path = resourcePaths.lease(lease.namespace, lease.name);
    this.#watch = new Reflector({
      client,
      clock,
      path: resourcePaths.leases(lease.namespace),
      // A Role with resourceNames allows a list or watch only with this selector.
      query: { fieldSelector: `metadata.name=${lease.name}` },
      decode: (raw) => raw,
      handler: ({ type, object }) => this.#handle(type === 'deleted', object),
      onError: trouble.failed,
      onSynced: () => {
        if (!this.#sight) this.#see(undefined, clock.now());
        this.#synced.resolve();
      },
      observe: ({ type }) => {
        if (type === 'watchStarted') trouble.ended();
      },
    });
  }

  get sight(): LeaseSight | undefined {
    return this.#sight;
  }

  start(): void {
    this.#watch.start();
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }

  /**
   * Writes the fields and a new renewTime. Resolves to the time at which the request was sent. Rejects if the write
   * fails; after a conflict, the follower first reads the Lease again.
   */
  async write(fields: {
    readonly holderIdentity: string;
    readonly leaseDurationSeconds: number;
    readonly leaseTransitions?: number;
  }): Promise<Instant> {
    const { client, clock, deadlineMs } = this.#parts;
    const lease = this.#raw;
    if (!lease) throw new Error('there is no Lease to write');
    const sentAt = clock.now();
    const renewTime = formatMicroTime(newTime(lease, clock.wallTime()));
    try {
      const answer = await client.request({
        method: 'PUT',
        path: this.#path,
        query: { fieldManager: PARTICIPANT_FIELD_MANAGER },
        // Keep all other fields of the Lease, including fields that this program does not know.
        body: { ...lease, spec: { ...specOf(lease), ...fields, renewTime } },
        deadlineMs,
      });
      // Skip the answer if the watch has already shown this state of the Lease or a later one.
      if (isKubernetesObject(answer) && !isNotNewer(answer, this.#raw)) this.#see(answer, sentAt);
      return sentAt;
    } catch (error) {
      if (isConflict(error)) await this.#read();
      throw error;
    }
  }

  #handle(isDeleted: boolean, object: KubernetesObject): void {
    const { clock } = this.#parts;
    // An event can be older than `#raw` because it is late, or because etcd was restored from a backup. Read the Lease
    // to find out.
    if (isOlderVersion(object.metadata.resourceVersion, this.#raw?.metadata.resourceVersion))
      void this.#read();
    else if (isDeleted) this.#see(undefined, clock.now());
    else if (!isNotNewer(object, this.#raw)) this.#see(object, clock.now());
  }

  /** Reads the Lease. Drops the answer if `#raw` has changed during the request. Never rejects. */
  async #read(): Promise<void> {
    const { client, clock, deadlineMs, logger } = this.#parts;
    const known = this.#raw;
    const read = unlessStatus(client.request({ method: 'GET', path: this.#path, deadlineMs }), 404);
    const answer = await read.catch((error: unknown) => {
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

/**
 * Returns the new renewTime: `wallTime`, or the next microsecond that is neither the old renewTime nor acquireTime.
 * With the old renewTime, other processes would see no renewal. With acquireTime, the Lease would look like a new
 * grant.
 */
function newTime(lease: KubernetesObject, wallTime: MicroTime): MicroTime {
  const spec = specOf(lease);
  const taken = [timeField(spec, 'renewTime'), timeField(spec, 'acquireTime')];
  let time = wallTime;
  while (taken.includes(time)) time++;
  return time;
}
