import { formatMicroTime } from '../coordination/micro-time.ts';
import { specOf } from '../coordination/raw-object.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import type { JsonObject } from '../support/json.ts';
import type { PauseGate } from './pause-gate.ts';
import type { SampleIdentity, SampleTiming } from './sample-identity.ts';

/** How far apart looks at a Lease that is somebody else's may be, beyond the retry period; as client-go has it. */
const JITTER_FACTOR = 1.2;

/** What a {@link SampleElector} needs. Callbacks must not throw. */
export interface SampleElectorParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly identity: SampleIdentity;
  readonly timing: SampleTiming;
  readonly gate: PauseGate;
  readonly onLeading: (isLeading: boolean) => void;
}

/**
 * Looks at a Lease and leads while it is the holder, as client-go's coordinated LeaderElector does: it takes nothing by
 * itself, stops renewing when another is preferred, and never renews what has expired.
 */
export class SampleElector {
  readonly #parts: SampleElectorParts;
  /** The Lease's record as last seen, and since when by its own clock. */
  #seen: string | undefined;
  #seenAt: Instant = 0;
  /** What the Lease said when this life of the program began: whoever it names, it was a former life. */
  #inherited: string | undefined;
  /** Until when it leads without another renewal; undefined while it does not. */
  #leadsUntil: Instant | undefined;

  constructor(parts: SampleElectorParts) {
    this.#parts = parts;
  }

  get isLeading(): boolean {
    return this.#leadsUntil !== undefined;
  }

  /** Takes note of the Lease as it is, so that the election to come is told from those before. */
  async begin(signal: AbortSignal): Promise<void> {
    const lease = await this.#read(signal).catch(() => undefined);
    if (lease) this.#notice(specOf(lease));
    this.#inherited = this.#seen;
  }

  /** Goes on until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timing, gate } = this.#parts;
    while (!signal.aborted) {
      await gate.passed();
      if (signal.aborted) return;
      if (this.#isOverdue()) this.#stepDown();
      // No answer, a conflict, no Lease: it looks again.
      else await this.#look(signal).catch(() => {});
      const jitter = this.isLeading ? 0 : JITTER_FACTOR * clock.random();
      await sleep(clock, timing.retryPeriodMs * (1 + jitter), signal);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, identity, gate } = this.#parts;
    const lease = await this.#read(signal);
    await gate.passed();
    const spec = specOf(lease);
    this.#notice(spec);
    const hasExpired = clock.now() >= this.#seenAt + Number(spec['leaseDurationSeconds']) * 1000;
    const isOurs = spec['holderIdentity'] === identity.name && this.#seen !== this.#inherited;
    if (!isOurs || hasExpired || spec['preferredHolder'] || this.#isOverdue()) return;
    await this.#renew(lease, signal);
  }

  async #renew(lease: JsonObject, signal: AbortSignal): Promise<void> {
    const { clock, identity, timing, onLeading } = this.#parts;
    const { leaseDurationSeconds, retryPeriodMs, renewDeadlineMs } = timing;
    const { acquireTime, leaseTransitions, strategy } = specOf(lease);
    const spec: JsonObject = {
      holderIdentity: identity.name,
      leaseDurationSeconds,
      acquireTime,
      renewTime: formatMicroTime(clock.wallTime()),
      leaseTransitions,
      strategy,
    };
    const sentAt = clock.now();
    const answer = await this.#call({ method: 'PUT', path: this.#path, body: { ...lease, spec } }, signal);
    this.#notice(specOf(answer));
    const hasLed = this.isLeading;
    this.#leadsUntil = sentAt + retryPeriodMs + renewDeadlineMs;
    if (!hasLed) onLeading(true);
  }

  /** It stops leading for good, as a program that then exits; the one that is started in its place begins afresh. */
  #stepDown(): void {
    this.#leadsUntil = undefined;
    this.#inherited = this.#seen;
    this.#parts.onLeading(false);
  }

  #isOverdue(): boolean {
    return this.#leadsUntil !== undefined && this.#parts.clock.now() >= this.#leadsUntil;
  }

  #notice(spec: JsonObject): void {
    const record = JSON.stringify([
      spec['holderIdentity'],
      spec['renewTime'],
      spec['leaseDurationSeconds'],
      spec['leaseTransitions'],
      spec['preferredHolder'],
      spec['strategy'],
    ]);
    if (record === this.#seen) return;
    this.#seen = record;
    this.#seenAt = this.#parts.clock.now();
  }

  get #path(): string {
    const { namespace, leaseName } = this.#parts.identity;
    return resourcePaths.lease(namespace, leaseName);
  }

  #read(signal: AbortSignal): Promise<JsonObject> {
    return this.#call({ method: 'GET', path: this.#path }, signal);
  }

  #call(request: ApiRequest, signal: AbortSignal): Promise<JsonObject> {
    const { client, timing } = this.#parts;
    return client.request({ ...request, signal, deadlineMs: timing.renewDeadlineMs / 2 });
  }
}
