import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import { specOf } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { MicroTime } from '../election/model.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { hasStatus, isConflict, unlessStatus } from '../kubernetes/errors.ts';
import {
  isKubernetesObject,
  isNotNewer,
  isOlderVersion,
  type KubernetesObject,
} from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, InterruptibleSleep, sleep } from '../support/clock.ts';
import {
  adoptionPatch,
  type CandidateDescription,
  newLeaseCandidate,
  pingTimeOf,
  renewalPatch,
} from './candidate-body.ts';
import { createTroubleLog, type ParticipantLogger, type TroubleLog } from './participant-telemetry.ts';

export interface CandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly description: CandidateDescription;
  readonly logger: ParticipantLogger;
}

/** The `on...` callbacks must not throw. */
interface PublishedCandidateParts extends CandidateParts {
  readonly apiVersion: CandidateApiVersion;
  /** Called once, after this process has created the LeaseCandidate or has adopted an existing one. */
  readonly onPublished: () => void;
  /**
   * Called once if the API server answers a read or write of the LeaseCandidate with 403 before the first publication:
   * the program has no permission for this API version. The participant still retries.
   */
  readonly onForbidden: () => void;
  /** Called when the watch starts again. The API server may have restarted, and may serve other API versions now. */
  readonly onReconnected: () => void;
  /** Called when the API server does not serve this API version. */
  readonly onNotServed: () => void;
}

/** Interval of renewals without a ping, in milliseconds. client-go uses the same interval. */
const RENEWAL_MS = 300_000;
/** Deadline of a read or write, in ms. Short: by default, an election waits only 5 s for the answer to a ping. */
const DEADLINE_MS = 2500;
const BACKOFF = { initialMs: 50, maxMs: 2000, resetAfterMs: 2000 };
/**
 * Delay before a deleted LeaseCandidate is published again. The delay grows, because another program may delete the
 * LeaseCandidate again and again.
 */
const DELETED_BACKOFF = { initialMs: 5, maxMs: 60_000, resetAfterMs: 60_000 };
/**
 * How long `remove` retries to delete the LeaseCandidate, in ms. After that, the LeaseCandidate stays until Kubernetes
 * deletes it together with its Pod, or the coordinator collects it (rule 1).
 */
const REMOVAL_MS = 5000;

/** A program's LeaseCandidate in one API version. Publishes, watches and renews it, and answers pings. */
export class PublishedCandidate {
  readonly #parts: PublishedCandidateParts;
  readonly #path: string;
  readonly #watch: Reflector<KubernetesObject>;
  readonly #sleep: InterruptibleSleep;
  readonly #stopping = new AbortController();
  readonly #deletions: Backoff;
  readonly #trouble: TroubleLog;
  /** The LeaseCandidate as last seen; undefined if there is none. */
  #own: KubernetesObject | undefined;
  /** Whether `#own` is unknown or may be outdated, and must be read. */
  #isStale = true;
  /** Whether this process has created the LeaseCandidate, or has adopted an existing one ({@link adoptionPatch}). */
  #isPublished = false;
  #isForbidden = false;
  /** The pingTime that the last sent renewal answers, even if that renewal failed; undefined if there was no ping. */
  #answeredPing: MicroTime | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: PublishedCandidateParts) {
    const { client, clock, apiVersion, description, logger, onNotServed, onReconnected } = parts;
    const { namespace, name } = description;
    const watchTrouble = createTroubleLog(logger, 'Cannot watch the LeaseCandidate');
    let hasWatched = false;
    this.#parts = parts;
    this.#path = resourcePaths.candidate(apiVersion, namespace, name);
    this.#sleep = new InterruptibleSleep(clock);
    this.#deletions = new Backoff(DELETED_BACKOFF, clock);
    this.#trouble = createTroubleLog(logger, 'Cannot publish or renew the LeaseCandidate');
    this.#watch = new Reflector({
      client,
      clock,
      path: resourcePaths.candidates(apiVersion, namespace),
      // A Role with resourceNames allows a list or watch only with this selector.
      query: { fieldSelector: `metadata.name=${name}` },
      decode: (raw) => raw,
      handler: ({ type, object }) => this.#handle(type === 'deleted', object),
      onError: watchTrouble.failed,
      onNotServed,
      observe: (observation) => {
        // A watch does not show deletions from before its start. If the list before the watch is empty, the
        // LeaseCandidate may have been deleted: read it again.
        if (observation.type === 'listed' && observation.objects === 0 && this.#own) this.#invalidate();
        if (observation.type !== 'watchStarted') return;
        watchTrouble.ended();
        if (hasWatched) onReconnected();
        hasWatched = true;
      },
    });
  }

  get apiVersion(): CandidateApiVersion {
    return this.#parts.apiVersion;
  }

  /** Starts to publish, watch and renew. Call this method once. */
  start(): void {
    this.#watch.start();
    this.#running = this.#run();
  }

  /** Stops renewing. The LeaseCandidate stays. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#sleep.interrupt();
    await Promise.all([this.#watch.stop(), this.#running]);
  }

  /** Stops renewing, and deletes the LeaseCandidate if possible. Never rejects. */
  async remove(): Promise<void> {
    await this.stop();
    if (this.#isForbidden && !this.#isPublished) return;
    const { clock, logger } = this.#parts;
    const deadline = clock.now() + REMOVAL_MS;
    const backoff = new Backoff(BACKOFF, clock);
    for (;;) {
      try {
        return await this.#delete();
      } catch (error) {
        if (isConflict(error)) return;
        const retryInMs = backoff.failed();
        if (clock.now() + retryInMs >= deadline) {
          logger.warn({ err: error }, 'Cannot delete the LeaseCandidate');
          return;
        }
        await sleep(clock, retryInMs);
      }
    }
  }

  #handle(isDeleted: boolean, object: KubernetesObject): void {
    const isOlder = isOlderVersion(object.metadata.resourceVersion, this.#own?.metadata.resourceVersion);
    if (isDeleted || isOlder) {
      // Do not trust the event: read the LeaseCandidate. After a deletion, a write in flight may create it again. An
      // event older than `#own` may be late, or etcd was restored from a backup.
      this.#invalidate();
    } else if (!isNotNewer(object, this.#own)) {
      this.#own = object;
      if (this.#isPinged()) this.#sleep.interrupt();
    }
  }

  #invalidate(): void {
    this.#isStale = true;
    this.#sleep.interrupt();
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#stopping;
    const backoff = new Backoff(BACKOFF, clock);
    while (!signal.aborted) {
      try {
        await this.#renew();
        backoff.succeeded();
        this.#trouble.ended();
        // Sleep until the next renewal, unless a ping arrived or `#own` became stale during this renewal.
        if (!this.#isStale && !this.#isPinged()) await this.#sleep.until(clock.now() + RENEWAL_MS);
      } catch (error) {
        if (signal.aborted) return;
        this.#isStale = true;
        // Do not report a race: another program has changed, deleted or created the LeaseCandidate in the meantime. A
        // 404 on creation is no race: the namespace is missing.
        const isRace = isConflict(error) && (this.#own !== undefined || hasStatus(error, 409));
        if (!isRace) this.#trouble.failed(error);
        this.#reportForbidden(error);
        await sleep(clock, backoff.failed(), signal);
      }
    }
  }

  #reportForbidden(error: unknown): void {
    if (!hasStatus(error, 403) || this.#isPublished || this.#isForbidden) return;
    this.#isForbidden = true;
    this.#parts.onForbidden();
  }

  async #renew(): Promise<void> {
    const { clock, apiVersion, description } = this.#parts;
    if (this.#isStale) {
      this.#own = await this.#read();
      this.#isStale = false;
    }
    const own = this.#own;
    if (!own) {
      await this.#publish();
    } else if (specOf(own)['leaseName'] !== description.leaseName) {
      // The LeaseCandidate names another Lease. Delete it and create it again, because leaseName is immutable.
      await this.#delete();
      this.#own = undefined;
      await this.#publish();
    } else if (this.#isPublished) {
      await this.#patch(own, renewalPatch(own, clock.wallTime()));
    } else {
      await this.#patch(own, adoptionPatch(own, apiVersion, description, clock.wallTime()));
    }
    if (!this.#isPublished) this.#parts.onPublished();
    this.#isPublished = true;
  }

  /**
   * Returns whether pingTime differs from the pingTime that the last renewal answers: the coordinator has sent a new
   * ping. Does not compare pingTime with renewTime, because a new pingTime may be earlier than renewTime if the
   * built-in coordinator's clock is behind.
   */
  #isPinged(): boolean {
    return this.#own !== undefined && pingTimeOf(this.#own) !== this.#answeredPing;
  }

  async #publish(): Promise<void> {
    const { clock, apiVersion, description, logger } = this.#parts;
    if (this.#isPublished) {
      logger.warn({ candidate: description.name }, 'The LeaseCandidate was deleted: it is published again');
      await sleep(clock, this.#deletions.failed(), this.#stopping.signal);
    }
    const body = newLeaseCandidate(apiVersion, description, clock.wallTime());
    const path = resourcePaths.candidates(apiVersion, description.namespace);
    this.#answeredPing = undefined;
    this.#keep(await this.#request({ method: 'POST', path, body }));
    this.#deletions.succeeded();
  }

  async #patch(own: KubernetesObject, body: object): Promise<void> {
    const contentType = 'application/merge-patch+json';
    this.#answeredPing = pingTimeOf(own);
    this.#keep(await this.#request({ method: 'PATCH', path: this.#path, contentType, body }));
  }

  async #delete(): Promise<void> {
    const { client } = this.#parts;
    const uid = this.#own?.metadata.uid;
    const body = uid === undefined ? {} : { preconditions: { uid } };
    await client.request({ method: 'DELETE', path: this.#path, body, deadlineMs: DEADLINE_MS });
  }

  async #read(): Promise<KubernetesObject | undefined> {
    const answer = await unlessStatus(this.#request({ method: 'GET', path: this.#path }), 404);
    return isKubernetesObject(answer) ? answer : undefined;
  }

  #request(request: ApiRequest): ReturnType<KubernetesClient['request']> {
    const query = { fieldManager: PARTICIPANT_FIELD_MANAGER };
    return this.#parts.client.request({
      ...request,
      ...(request.method !== 'GET' && { query }),
      deadlineMs: DEADLINE_MS,
      signal: this.#stopping.signal,
    });
  }

  /** Stores the answer to a write, unless the watch has already shown the same state or a later one. */
  #keep(answer: unknown): void {
    if (isKubernetesObject(answer) && !isNotNewer(answer, this.#own)) this.#own = answer;
  }
}
