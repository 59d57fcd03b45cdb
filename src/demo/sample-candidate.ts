import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import { specOf } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { isKubernetesObject, isNotNewer, type KubernetesObject } from '../kubernetes/objects.ts';
import { Reflector } from '../kubernetes/reflector.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, sleep } from '../support/clock.ts';
import { PauseGate } from './pause-gate.ts';
import { SampleElector } from './sample-elector.ts';
import type { SampleIdentity, SampleTiming } from './sample-identity.ts';

/** What has become of a sample candidate's program. */
export type SampleLife = 'running' | 'paused' | 'crashed' | 'left';

/** What a {@link SampleCandidate} needs. Callbacks must not throw. */
export interface SampleCandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly identity: SampleIdentity;
  readonly timing: SampleTiming;
  readonly onLeading: (isLeading: boolean) => void;
}

/** The version of LeaseCandidate that client-go's candidates use since 0.33. */
const API_VERSION = 'coordination.k8s.io/v1beta1';
/** When a ping is ahead of its own clock, or came while it answered another, in milliseconds. */
const PINGED_AGAIN_MS = 20;
/** Between attempts to renew a LeaseCandidate, in milliseconds. */
const BACKOFF = { initialMs: 10, maxMs: 1000, resetAfterMs: 1000 };

/**
 * One life of a program that takes part in a coordinated election, as client-go would have it: it publishes a
 * LeaseCandidate, renews it now and then and whenever it is pinged, and leads while the Lease says so. It can be paused,
 * as by SIGSTOP, and crash, which leaves everything as it is.
 */
export class SampleCandidate {
  readonly identity: SampleIdentity;
  readonly #parts: SampleCandidateParts;
  readonly #elector: SampleElector;
  readonly #gate = new PauseGate();
  readonly #ending = new AbortController();
  readonly #watch: Reflector<KubernetesObject>;
  #end: 'crashed' | 'left' | undefined;
  /** Its LeaseCandidate as last seen; undefined when there is none. */
  #own: KubernetesObject | undefined;
  #running: Promise<unknown> | undefined;
  /** Ends the wait for the next renewal. */
  #wake = new AbortController();

  constructor(parts: SampleCandidateParts) {
    const { client, clock, identity, onLeading } = parts;
    this.identity = identity;
    this.#parts = parts;
    this.#elector = new SampleElector({ ...parts, gate: this.#gate, onLeading });
    this.#watch = new Reflector({
      client,
      clock,
      path: resourcePaths.candidates(API_VERSION, identity.namespace),
      query: { fieldSelector: `metadata.name=${identity.name}` },
      decode: (raw) => raw,
      handler: ({ type, object }) => this.#see(type === 'deleted' ? undefined : object),
    });
  }

  get life(): SampleLife {
    return this.#end ?? (this.#gate.isPaused ? 'paused' : 'running');
  }

  get isLeading(): boolean {
    return this.#end === undefined && this.#elector.isLeading;
  }

  /** Starts the program; resolves once its LeaseCandidate is there and renewed, or it has ended before that. */
  async start(): Promise<void> {
    const { signal } = this.#ending;
    await this.#elector.begin(signal);
    this.#own = await this.#read();
    const renewed = Promise.withResolvers<void>();
    const renewals = this.#keepRenewed(signal, renewed.resolve);
    await renewed.promise;
    if (signal.aborted) return;
    this.#watch.start();
    this.#running = Promise.all([renewals, this.#elector.run(signal)]);
  }

  pause(): void {
    if (this.#end === undefined) this.#gate.pause();
  }

  resume(): void {
    this.#gate.resume();
  }

  /** Ends it at once: nothing is released, nobody is told. */
  async crash(): Promise<void> {
    await this.#stop('crashed');
  }

  /** Ends it in good order: its LeaseCandidate goes with it. Rejects when the API server refuses that. */
  async leave(): Promise<void> {
    await this.#stop('left');
    await this.#parts.client.request({ method: 'DELETE', path: this.#path });
  }

  #see(object: KubernetesObject | undefined): void {
    // The watch may show what was before our last renewal after that was answered.
    if (object && isNotNewer(object, this.#own)) return;
    this.#own = object;
    if (isPinged(object)) this.#wake.abort();
  }

  async #stop(end: 'crashed' | 'left'): Promise<void> {
    this.#end ??= end;
    this.#ending.abort();
    this.#wake.abort();
    this.#gate.resume();
    await Promise.all([this.#watch.stop(), this.#running]);
  }

  async #keepRenewed(signal: AbortSignal, onRenewed: () => void): Promise<void> {
    const { clock, timing } = this.#parts;
    const backoff = new Backoff(BACKOFF, clock);
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        this.#own = await this.#renew(signal);
        onRenewed();
        if (isPinged(this.#own)) await sleep(clock, PINGED_AGAIN_MS, signal);
        else await sleep(clock, timing.candidateRenewalMs, this.#wake.signal);
      } catch {
        // Somebody else wrote first, most likely: what it is now is read rather than waited for.
        await sleep(clock, backoff.failed(), signal);
        this.#own = await this.#read().catch(() => this.#own);
      }
      await this.#gate.passed();
    }
    onRenewed();
  }

  async #renew(signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const { client, clock, identity } = this.#parts;
    const renewTime = formatMicroTime(clock.wallTime());
    const own = this.#own;
    const answer = own
      ? await client.request({
          method: 'PUT',
          path: this.#path,
          body: { ...own, spec: { ...specOf(own), renewTime } },
          signal,
        })
      : await client.request({
          method: 'POST',
          path: resourcePaths.candidates(API_VERSION, identity.namespace),
          body: newLeaseCandidate(identity, renewTime),
          signal,
        });
    return isKubernetesObject(answer) ? answer : undefined;
  }

  async #read(): Promise<KubernetesObject | undefined> {
    const { client } = this.#parts;
    try {
      const { signal } = this.#ending;
      const answer = await client.request({ method: 'GET', path: this.#path, signal });
      return isKubernetesObject(answer) ? answer : undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  get #path(): string {
    const { namespace, name } = this.identity;
    return resourcePaths.candidate(API_VERSION, namespace, name);
  }
}

function newLeaseCandidate(identity: SampleIdentity, renewTime: string) {
  const { namespace, name, leaseName, binaryVersion, emulationVersion, strategy } = identity;
  return {
    apiVersion: API_VERSION,
    kind: 'LeaseCandidate',
    metadata: { namespace, name },
    spec: { leaseName, binaryVersion, emulationVersion, strategy, renewTime },
  };
}

/** True when it was asked for a sign of life after its last one. */
function isPinged(object: KubernetesObject | undefined): boolean {
  if (!object) return false;
  const { pingTime, renewTime } = decodeLeaseCandidate(object);
  return pingTime !== undefined && pingTime > (renewTime ?? 0n);
}
