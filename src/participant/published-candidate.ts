import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { PARTICIPANT_FIELD_MANAGER } from '../coordination/lease.ts';
import { specOf } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { MicroTime } from '../election/model.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, isConflict } from '../kubernetes/errors.ts';
import {
  isKubernetesObject,
  isNotNewer,
  isOlderVersion,
  type KubernetesObject,
} from '../kubernetes/objects.ts';
import type { Reflector } from '../kubernetes/reflector.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, InterruptibleSleep, sleep } from '../support/clock.ts';
import {
  adoptionPatch,
  type CandidateDescription,
  newLeaseCandidate,
  pingTimeOf,
  renewalPatch,
} from './candidate-body.ts';
import { type ParticipantLogger, TroubleLog } from './participant-log.ts';
import { watchOne } from './watch-one.ts';

/** What a {@link PublishedCandidate} needs. Callbacks must not throw. */
export interface PublishedCandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly apiVersion: CandidateApiVersion;
  readonly description: CandidateDescription;
  readonly logger: ParticipantLogger;
  /** It is there for the first time. */
  readonly onPublished: () => void;
  /** This program may not publish it: told once. It goes on trying. */
  readonly onRefused: () => void;
  /** Its watch has begun anew: with a server, perhaps, that serves other versions than the one before. */
  readonly onReconnected: () => void;
  /** This version of the API is not served any more. */
  readonly onGone: () => void;
}

/** How often it is renewed without a ping, in milliseconds: as client-go does it. */
const RENEWAL_MS = 300_000;
/** For each request, in milliseconds: an election waits 5 s for an answer to its ping. */
const DEADLINE_MS = 2500;
const BACKOFF = { initialMs: 50, maxMs: 2000, resetAfterMs: 2000 };
/** Who goes on deleting it must not be kept busy: the first time it is published again after 5 ms at most. */
const DELETED_BACKOFF = { initialMs: 5, maxMs: 60_000, resetAfterMs: 60_000 };
/** How long it is tried to delete it, in milliseconds. What is left is collected, some time later (rule 1). */
const REMOVAL_MS = 5000;

/** A program's LeaseCandidate in one version of the API: published, watched, renewed and answered for. */
export class PublishedCandidate {
  readonly apiVersion: CandidateApiVersion;
  readonly #parts: PublishedCandidateParts;
  readonly #path: string;
  readonly #watch: Reflector<KubernetesObject>;
  readonly #sleep: InterruptibleSleep;
  readonly #stopping = new AbortController();
  readonly #deletions: Backoff;
  readonly #trouble: TroubleLog;
  /** As last seen; undefined: there is none. */
  #own: KubernetesObject | undefined;
  /** Whether it has to be read, as it is not known, or not as it is now. */
  #isStale = true;
  /** Whether it says what this program has to say. */
  #isAdopted = false;
  #isPublished = false;
  #isRefused = false;
  #hasWatched = false;
  /** pingTime when it was last renewed. */
  #answered: MicroTime | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: PublishedCandidateParts) {
    const { client, clock, apiVersion, description, logger } = parts;
    const { namespace, name } = description;
    this.#parts = parts;
    this.apiVersion = apiVersion;
    this.#path = resourcePaths.candidate(apiVersion, namespace, name);
    this.#sleep = new InterruptibleSleep(clock);
    this.#deletions = new Backoff(DELETED_BACKOFF, clock);
    this.#trouble = new TroubleLog(logger, 'Cannot publish or renew the LeaseCandidate');
    this.#watch = watchOne({
      client,
      clock,
      path: resourcePaths.candidates(apiVersion, namespace),
      name,
      trouble: new TroubleLog(logger, 'Cannot watch the LeaseCandidate'),
      onChange: (isDeleted, object) => this.#hear(isDeleted, object),
      onListed: (isThere) => this.#listed(isThere),
      onStarted: () => this.#watchStarted(),
      onNotServed: () => parts.onGone(),
    });
  }

  start(): void {
    this.#watch.start();
    this.#running ??= this.#run();
  }

  /** Leaves it as it is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#sleep.interrupt();
    await Promise.all([this.#watch.stop(), this.#running]);
  }

  /** Deletes it. Never rejects. */
  async remove(): Promise<void> {
    await this.stop();
    if (this.#isRefused && !this.#isPublished) return;
    const { clock, logger } = this.#parts;
    const until = clock.now() + REMOVAL_MS;
    const backoff = new Backoff(BACKOFF, clock);
    for (;;) {
      try {
        await this.#delete();
        return;
      } catch (error) {
        if (isConflict(error)) return;
        const retryInMs = backoff.failed();
        if (clock.now() + retryInMs >= until) {
          logger.warn({ err: error }, 'Cannot delete the LeaseCandidate');
          return;
        }
        await sleep(clock, retryInMs);
      }
    }
  }

  #watchStarted(): void {
    if (this.#hasWatched) this.#parts.onReconnected();
    this.#hasWatched = true;
  }

  /** Of one that was deleted before it was watched, nobody tells. */
  #listed(isThere: boolean): void {
    if (!isThere && this.#own) this.#doubt();
  }

  #hear(isDeleted: boolean, object: KubernetesObject): void {
    const isOlder = isOlderVersion(object.metadata.resourceVersion, this.#own?.metadata.resourceVersion);
    if (isDeleted || isOlder) {
      // The answer to a renewal from before may be on its way still; or what was told is late, or storage was set back.
      this.#doubt();
    } else if (!isNotNewer(object, this.#own)) {
      this.#own = object;
      if (this.#isPinged()) this.#sleep.interrupt();
    }
  }

  #doubt(): void {
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
        // Told of a ping or its end meanwhile, it does not wait.
        if (!this.#isStale && !this.#isPinged()) await this.#sleep.until(clock.now() + RENEWAL_MS);
      } catch (error) {
        if (signal.aborted) return;
        this.#isStale = true;
        if (!this.#isRace(error)) this.#trouble.failed(error);
        this.#noteRefusal(error);
        await sleep(clock, backoff.failed(), signal);
      }
    }
  }

  /** Whether somebody else has merely been first; not, where there was none, that its namespace is missing. */
  #isRace(error: unknown): boolean {
    const wasThere = this.#own !== undefined;
    return isConflict(error) && (wasThere || (error instanceof ApiError && error.status === 409));
  }

  #noteRefusal(error: unknown): void {
    const isForbidden = error instanceof ApiError && error.status === 403;
    if (!isForbidden || this.#isPublished || this.#isRefused) return;
    this.#isRefused = true;
    this.#parts.onRefused();
  }

  /** Brings about that it is there and renewed. */
  async #renew(): Promise<void> {
    const { clock, apiVersion, description } = this.#parts;
    if (this.#isStale) {
      this.#own = await this.#read();
      this.#isStale = false;
    }
    const own = this.#own;
    if (own && specOf(own)['leaseName'] !== description.leaseName) await this.#replace();
    else if (!own) await this.#publish();
    else if (this.#isAdopted) await this.#patch(own, renewalPatch(own, clock.wallTime()));
    else await this.#patch(own, adoptionPatch(own, apiVersion, description, clock.wallTime()));
    this.#isAdopted = true;
    if (!this.#isPublished) this.#parts.onPublished();
    this.#isPublished = true;
  }

  /**
   * Any ping but the last one that was answered: where the clock of whoever asks is behind ours, pingTime is before our
   * renewTime.
   */
  #isPinged(): boolean {
    return this.#own !== undefined && pingTimeOf(this.#own) !== this.#answered;
  }

  async #publish(): Promise<void> {
    const { clock, apiVersion, description, logger } = this.#parts;
    if (this.#isPublished) {
      logger.warn({ candidate: description.name }, 'The LeaseCandidate was deleted: it is published again');
      await sleep(clock, this.#deletions.failed(), this.#stopping.signal);
    }
    const body = newLeaseCandidate(apiVersion, description, clock.wallTime());
    const path = resourcePaths.candidates(apiVersion, description.namespace);
    this.#answered = undefined;
    this.#take(await this.#request({ method: 'POST', path, body }));
    this.#deletions.succeeded();
  }

  async #patch(own: KubernetesObject, body: object): Promise<void> {
    const contentType = 'application/merge-patch+json';
    this.#answered = pingTimeOf(own);
    this.#take(await this.#request({ method: 'PATCH', path: this.#path, contentType, body }));
  }

  /** leaseName cannot be changed. */
  async #replace(): Promise<void> {
    await this.#delete();
    this.#own = undefined;
    await this.#publish();
  }

  async #delete(): Promise<void> {
    const { client } = this.#parts;
    const uid = this.#own?.metadata.uid;
    const body = uid === undefined ? {} : { preconditions: { uid } };
    await client.request({ method: 'DELETE', path: this.#path, body, deadlineMs: DEADLINE_MS });
  }

  async #read(): Promise<KubernetesObject | undefined> {
    try {
      const answer = await this.#request({ method: 'GET', path: this.#path });
      return isKubernetesObject(answer) ? answer : undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
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

  /** The watch may have shown what came after it by now. */
  #take(answer: unknown): void {
    if (isKubernetesObject(answer) && !isNotNewer(answer, this.#own)) this.#own = answer;
  }
}
