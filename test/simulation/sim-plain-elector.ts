import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import { ApiError } from '../../src/kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import { specOf } from './sim-api-server.ts';
import type { SimElectorTiming } from './sim-candidate.ts';
import type { SimConnection } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';

/** The identity and callbacks of an elector. */
export interface SimPlainElectorParts {
  readonly namespace: string;
  readonly leaseName: string;
  readonly name: string;
  readonly timing: SimElectorTiming;
  /** See {@link SimCandidateHabits}. */
  readonly beliefShare: number;
  readonly onBelief: (until: Instant | undefined) => void;
}

/**
 * A program with client-go's elector and without coordination: it takes the Lease when the Lease is free or has
 * expired, and erases strategy and preferredHolder with each renewal.
 */
export class SimPlainElector {
  readonly process: SimProcess;
  readonly connection: SimConnection;
  readonly #parts: SimPlainElectorParts;
  #seen = '';
  #seenAt: Instant = 0;
  /** When it gives up if it does not renew; set while it leads. */
  #givesUpAt: Instant | undefined;

  constructor(process: SimProcess, connection: SimConnection, parts: SimPlainElectorParts) {
    this.process = process;
    this.connection = connection;
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { retryMs } = this.#parts.timing;
    while (this.process.isAlive) {
      await this.#tryToLead().catch(() => {});
      if (this.#givesUpAt !== undefined && this.process.now() >= this.#givesUpAt) this.#follow();
      const waitMs = this.#givesUpAt === undefined ? retryMs * (1 + 1.2 * this.process.random()) : retryMs;
      await new Promise<void>((resolve) => this.process.setTimer(resolve, waitMs));
    }
  }

  crash(): void {
    this.process.kill();
    this.#parts.onBelief(undefined);
  }

  #follow(): void {
    this.#givesUpAt = undefined;
    this.#parts.onBelief(undefined);
  }

  async #tryToLead(): Promise<void> {
    const { namespace, leaseName, name, timing, beliefShare, onBelief } = this.#parts;
    const deadlineMs = timing.renewDeadlineMs / 2;
    const lease = await this.#read(resourcePaths.lease(namespace, leaseName), deadlineMs);
    const spec = specOf(lease);
    const { holderIdentity = '', leaseDurationSeconds = 0, acquireTime, leaseTransitions = 0 } = spec;
    const record = JSON.stringify(spec);
    if (record !== this.#seen) {
      this.#seen = record;
      this.#seenAt = this.process.now();
    }
    const isMine = holderIdentity === name;
    const isValid = this.process.now() < this.#seenAt + Number(leaseDurationSeconds) * 1000;
    if (!isMine && holderIdentity !== '' && isValid) {
      if (this.#givesUpAt !== undefined) this.#follow();
      return;
    }
    if (this.#givesUpAt !== undefined && this.process.now() >= this.#givesUpAt) return;
    const sentAt = this.process.world.now();
    const now = formatMicroTime(this.process.wallTime());
    const next = {
      holderIdentity: name,
      leaseDurationSeconds: timing.leaseSeconds,
      renewTime: now,
      acquireTime: isMine ? acquireTime : now,
      leaseTransitions: Number(leaseTransitions) + (isMine || !lease ? 0 : 1),
    };
    await this.#write(lease, next, deadlineMs);
    this.#seen = '';
    onBelief(sentAt + (timing.leaseSeconds * 1000 * beliefShare) / this.process.rate);
    this.#givesUpAt = this.process.now() + timing.retryMs + timing.renewDeadlineMs;
  }

  async #read(path: string, deadlineMs: number): Promise<KubernetesObject | undefined> {
    try {
      const answer = await this.connection.request({ method: 'GET', path, deadlineMs });
      return isKubernetesObject(answer) ? answer : undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #write(lease: KubernetesObject | undefined, spec: object, deadlineMs: number): Promise<void> {
    const { namespace, leaseName } = this.#parts;
    if (lease) {
      const path = resourcePaths.lease(namespace, leaseName);
      await this.connection.request({ method: 'PUT', path, body: { ...lease, spec }, deadlineMs });
    } else {
      const body = { metadata: { namespace, name: leaseName }, spec };
      await this.connection.request({
        method: 'POST',
        path: resourcePaths.leases(namespace),
        body,
        deadlineMs,
      });
    }
  }
}
