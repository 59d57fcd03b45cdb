import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../../src/coordination/resource-paths.ts';
import type { Instant } from '../../../src/support/clock.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { type SimApiServer, type SimWrite, specOf } from '../../simulation/sim-api-server.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';

/** The cluster and the namespace of a pod. */
export interface PodSite {
  readonly clock: VirtualClock;
  readonly api: SimApiServer;
}

/** The program of a pod. */
export interface Program {
  readonly leaseName: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
}

const NAMESPACE = 'default';
const CANDIDATE_RENEWAL_MS = 5 * 60_000;
const RETRY_MS = 2000;
const YIELD_MS = 10_000;
const ANSWER_MS = 20;

/**
 * A pod whose program takes part in an election like client-go's. It leaves its LeaseCandidate when it exits. If it
 * leads and exits cleanly, it releases the Lease. Calls are executed at once, and never fail.
 */
export class SimPod {
  readonly name: string;
  readonly #site: PodSite;
  readonly #program: Program;
  /** Its program has exited by itself, after it yielded. */
  readonly #onExit: () => void;
  #isRunning = false;
  #leads = false;
  #yieldsSince: Instant | undefined;
  #seenRenewal: unknown;
  #seenAt: Instant = 0;
  #cancelRenewal = (): void => {};

  constructor(name: string, program: Program, site: PodSite, onExit: () => void) {
    this.name = name;
    this.#program = program;
    this.#site = site;
    this.#onExit = onExit;
  }

  get isLeading(): boolean {
    return this.#isRunning && this.#leads;
  }

  start(): void {
    this.#isRunning = true;
    const { leaseName, binaryVersion, emulationVersion } = this.#program;
    const strategy = 'OldestEmulationVersion';
    const spec = { leaseName, binaryVersion, emulationVersion, strategy, renewTime: this.#wall };
    this.#site.api.handle(this.name, {
      method: 'POST',
      path: resourcePaths.candidates('coordination.k8s.io/v1beta1', NAMESPACE),
      body: { metadata: { namespace: NAMESPACE, name: this.name }, spec },
    });
    this.#renewLater();
    this.#look();
  }

  /** SIGTERM: it releases its Lease, and exits. */
  terminate(): void {
    if (this.isLeading) {
      const { strategy: _, preferredHolder: __, ...spec } = this.#leaseSpec;
      const released = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#wall };
      this.#writeLease({ ...spec, ...released });
    }
    this.halt();
  }

  /** SIGKILL, or SIGSTOP: it does nothing any more. */
  halt(): void {
    this.#isRunning = false;
    this.#cancelRenewal();
  }

  /** Receives every write. */
  onWrite({ resource, key }: SimWrite): void {
    if (!this.#isRunning || resource !== 'leasecandidates' || key !== this.#key) return;
    const { pingTime, renewTime } = specOf(this.#site.api.candidate(key));
    if (pingTime === undefined || String(pingTime) <= String(renewTime)) return;
    this.#site.clock.setTimer(() => this.#renew(), ANSWER_MS);
  }

  get #key(): string {
    return `${NAMESPACE}/${this.name}`;
  }

  get #wall(): string {
    return formatMicroTime(this.#site.clock.wallTime());
  }

  get #leaseSpec(): JsonObject {
    return specOf(this.#site.api.lease(`${NAMESPACE}/${this.#program.leaseName}`));
  }

  #writeLease(spec: JsonObject): void {
    const { api } = this.#site;
    const lease = api.lease(`${NAMESPACE}/${this.#program.leaseName}`);
    if (lease) api.store.update('leases', lease, { ...lease, spec });
  }

  #renew(): void {
    const { api } = this.#site;
    const own = api.candidate(this.#key);
    if (!this.#isRunning || !own) return;
    api.store.update('leasecandidates', own, { ...own, spec: { ...specOf(own), renewTime: this.#wall } });
    this.#renewLater();
  }

  #renewLater(): void {
    this.#cancelRenewal();
    this.#cancelRenewal = this.#site.clock.setTimer(() => this.#renew(), CANDIDATE_RENEWAL_MS);
  }

  #look(): void {
    if (!this.#isRunning) return;
    const { clock } = this.#site;
    const at = clock.now();
    const { holderIdentity, renewTime, leaseDurationSeconds, preferredHolder } = this.#leaseSpec;
    if (this.#seenRenewal !== renewTime) [this.#seenRenewal, this.#seenAt] = [renewTime, at];
    const isValid = at - this.#seenAt < Number(leaseDurationSeconds) * 1000;
    this.#leads = holderIdentity === this.name && isValid;
    const isAskedToYield = this.#leads && preferredHolder !== undefined;
    this.#yieldsSince = isAskedToYield ? (this.#yieldsSince ?? at) : undefined;
    if (this.#yieldsSince !== undefined && at - this.#yieldsSince >= YIELD_MS) {
      this.terminate();
      this.#onExit();
      return;
    }
    if (this.#leads && !isAskedToYield) {
      this.#writeLease({ ...this.#leaseSpec, leaseDurationSeconds: 15, renewTime: this.#wall });
      [this.#seenRenewal, this.#seenAt] = [this.#wall, at];
    }
    clock.setTimer(() => this.#look(), this.#leads ? RETRY_MS : RETRY_MS * (1 + 1.2 * clock.random()));
  }
}
