import {
  candidatePath,
  candidatesPath,
  type Lease,
  leasePath,
  microTime,
} from '../control-plane/cluster-objects.ts';
import type { WatchedCandidate, WatchedLease } from '../control-plane/watched-objects.ts';
import { type Ask, isOk } from './ask.ts';

/** client-go's, for a LeaseCandidate. */
export const CANDIDATE_RENEWAL_MS = 300_000;
/** Retry interval after a failed write. */
const RETRY_MS = 1_000;

/** The published data of a program. */
export interface ProgramIdentity {
  readonly namespace: string;
  readonly lease: string;
  readonly name: string;
}

/** The LeaseCandidate of a running program. Like client-go, it renews when it is pinged, and periodically. */
export class Program {
  readonly identity: ProgramIdentity;
  readonly #ask: Ask;
  #emulationVersion: string;
  #object: WatchedCandidate | undefined;
  #renewsAt = 0;
  #stalledUntil = 0;
  #isBusy = false;
  #isGone = false;

  constructor(ask: Ask, identity: ProgramIdentity, emulationVersion: string) {
    this.#ask = ask;
    this.identity = identity;
    this.#emulationVersion = emulationVersion;
  }

  get isStalled(): boolean {
    return this.#stalledUntil > performance.now();
  }

  /** Whether it has a LeaseCandidate. */
  get isPublished(): boolean {
    return this.#object !== undefined;
  }

  get path(): string {
    return candidatePath(this.identity);
  }

  /** Neither renews nor answers for some time, as under SIGSTOP; 0: resumes. */
  stall(ms: number): void {
    this.#stalledUntil = performance.now() + ms;
  }

  /** Renews at once, with another version. */
  upgrade(emulationVersion: string): void {
    this.#emulationVersion = emulationVersion;
    this.#renewsAt = 0;
  }

  /** Stops all actions. */
  end(): void {
    this.#isGone = true;
  }

  /** Its LeaseCandidate on the server; undefined if there is none. */
  see(object: WatchedCandidate | undefined): void {
    if (this.#object && object && !isNewer(object, this.#object)) return;
    // client-go notices a deletion with its next renewal; here it need not take five minutes.
    if (!object && this.#object) this.#renewsAt = performance.now() + 5 * RETRY_MS;
    this.#object = object;
    if (isPinged(object)) void this.#renew();
  }

  /** Performs all due actions. */
  tick(now: number): void {
    if (now >= this.#renewsAt || isPinged(this.#object)) void this.#renew();
  }

  async #renew(): Promise<void> {
    if (this.#isBusy || this.#isGone || this.isStalled) return;
    this.#isBusy = true;
    const outcome = await this.#write();
    this.#isBusy = false;
    if (isOk(outcome)) this.see(outcome.object as WatchedCandidate);
    // Spread over time, as programs start at different times.
    const restMs = isOk(outcome) ? CANDIDATE_RENEWAL_MS * (0.5 + 0.5 * Math.random()) : RETRY_MS;
    this.#renewsAt = performance.now() + restMs;
  }

  #write() {
    const object = this.#object;
    const spec = {
      ...object?.spec,
      leaseName: this.identity.lease,
      binaryVersion: '1.36.0',
      emulationVersion: this.#emulationVersion,
      strategy: 'OldestEmulationVersion',
      renewTime: microTime(),
    };
    if (object) return this.#ask('PUT', this.path, { ...object, spec });
    return this.#ask('POST', candidatesPath(this.identity), { metadata: { name: this.identity.name }, spec });
  }
}

function isPinged(object: WatchedCandidate | undefined): boolean {
  const { pingTime, renewTime = '' } = object?.spec ?? {};
  return pingTime !== undefined && pingTime > renewTime;
}

/** The API server's resourceVersions are increasing numbers, as Kubernetes guarantees since 1.35. */
export function isNewer(
  object: WatchedCandidate | WatchedLease,
  than: WatchedCandidate | WatchedLease,
): boolean {
  return Number(object.metadata.resourceVersion) > Number(than.metadata.resourceVersion);
}

/** Empties a Lease as client-go does with `ReleaseOnCancel`. */
export function releaseLease(ask: Ask, lease: WatchedLease): ReturnType<Ask> {
  const now = microTime();
  const { leaseTransitions } = lease.spec;
  const spec: Lease['spec'] = {
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: now,
    renewTime: now,
    ...(leaseTransitions === undefined ? {} : { leaseTransitions }),
  };
  return ask('PUT', leasePath(lease.metadata), { ...lease, spec });
}
