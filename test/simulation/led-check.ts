import { USUAL_DURATION_MS } from '../../src/election/beliefs.ts';
import { takeUpMs } from '../../src/election/lease-memory.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { LeaseStories } from './settled-check.ts';
import { specOf } from './sim-api-server.ts';
import type { LeasePlan } from './sim-plan.ts';
import type { SimSlot } from './sim-slot.ts';
import type { SimWorld } from './sim-world.ts';

/** client-go's elector reads the Lease at most this many retry periods later. */
const LONGEST_LOOK = 2.2;
/** Time for requests and pings, and between two runs of this check. */
const SPARE_MS = 4000;

/**
 * Checks that a Lease does not stay without a leader for long while some of its candidates hang but answer pings, if
 * another candidate is well. Such a Lease does not settle: coordinators try a better candidate that hangs again and
 * again.
 */
export class LedCheck {
  readonly #world: SimWorld;
  readonly #stories: LeaseStories;
  readonly #from: Instant;
  /** By Lease: the renewTime of a grant that the new holder has not renewed, and when that became known. */
  readonly #untaken = new Map<string, { readonly renewTime: unknown; readonly since: Instant }>();
  /** By Lease: when a coordinator last reserved it for a former holder. */
  readonly #reserved = new Map<string, Instant>();
  readonly #wellSince = new Map<SimSlot, Instant>();

  /** @param from the latest time from which each Lease must have a leader */
  constructor(world: SimWorld, stories: LeaseStories, from: Instant) {
    this.#world = world;
    this.#stories = stories;
    this.#from = from;
  }

  /** Returns the violation at this moment. `well`: the candidates of the Lease that could lead. */
  look(lease: LeasePlan, slots: readonly SimSlot[], well: readonly SimSlot[]): readonly string[] {
    const key = `${lease.namespace}/${lease.name}`;
    const now = this.#world.clock.now();
    const { ledUntil = 0 } = this.#stories.byLease.get(key) ?? {};
    const untakenSince = this.#untakenSince(key, slots);
    const wellSince = this.#noteWell(slots, well);
    if (well.length === 0) return [];
    const from = Math.max(this.#from, wellSince);
    const hanging = slots.filter(({ isHanging }) => isHanging).length;
    const vacantMs = now - Math.max(ledUntil, from, this.#reservedUntil(lease, ledUntil));
    const untakenMs = now - Math.max(untakenSince, from);
    const { clockTolerance, settings } = this.#world.plan;
    // If a new holder does not renew within this time, another live candidate gets the Lease (rule 12).
    const takenUpWithinMs = takeUpMs(settings.leaseDurationSeconds);
    return [
      ...(vacantMs < this.#longestVacancyMs(lease, hanging)
        ? []
        : [`${key} has had no leader for ${Math.round(vacantMs / 1000)} s, as an elector hangs`]),
      ...(untakenMs < takenUpWithinMs / clockTolerance + SPARE_MS
        ? []
        : [`${key} stays granted to an elector that hangs for ${Math.round(untakenMs / 1000)} s`]),
    ];
  }

  /** Since when one of the candidates has been well. A leader that yields exits, and its program is started again. */
  #noteWell(slots: readonly SimSlot[], well: readonly SimSlot[]): Instant {
    const since = well.map((slot) =>
      Math.max(this.#wellSince.get(slot) ?? this.#world.clock.now(), slot.touchedAt),
    );
    for (const slot of slots) this.#wellSince.delete(slot);
    for (const [index, slot] of well.entries()) this.#wellSince.set(slot, since[index] ?? 0);
    return Math.min(...since);
  }

  /**
   * Until when a coordinator reserves the Lease for a holder that may believe that it leads (rule 8). A belief limits
   * this time.
   */
  #reservedUntil({ namespace, name, timing }: LeasePlan, ledUntil: Instant): Instant {
    const key = `${namespace}/${name}`;
    const { replicas, plan, clock } = this.#world;
    const isReserved = replicas.some((replica) => {
      const reason = replica.isActive() ? replica.reasonFor(key) : undefined;
      return reason === 'AwaitingFormerHolder' || reason === 'LeaseFenced';
    });
    if (isReserved) this.#reserved.set(key, clock.now());
    const longestMs = Math.max(
      USUAL_DURATION_MS,
      timing.leaseSeconds * 1000,
      plan.settings.leaseDurationSeconds * 1000,
    );
    const latest = ledUntil + longestMs / plan.clockTolerance + SPARE_MS;
    return Math.min(this.#reserved.get(key) ?? Number.NEGATIVE_INFINITY, latest);
  }

  /** Since when a hanging elector has had the Lease without renewing it; Infinity if there is none. */
  #untakenSince(key: string, slots: readonly SimSlot[]): Instant {
    const { holderIdentity, acquireTime, renewTime } = specOf(this.#world.store.get('leases', key));
    const isToHanging = slots.some(({ isHanging, program }) => isHanging && program?.name === holderIdentity);
    const isUntaken = isToHanging && acquireTime === renewTime;
    const known = this.#untaken.get(key);
    if (isUntaken && known?.renewTime === renewTime) return known?.since ?? this.#world.clock.now();
    if (isUntaken) this.#untaken.set(key, { renewTime, since: this.#world.clock.now() });
    return Number.POSITIVE_INFINITY;
  }

  #longestVacancyMs({ timing }: LeasePlan, hanging: number): number {
    const { clockTolerance, settings } = this.#world.plan;
    const { leaseSeconds, renewDeadlineMs, retryMs } = timing;
    // A leader stops this long before its Lease expires.
    const earlyMs = Math.max(
      leaseSeconds * 1000 - renewDeadlineMs - retryMs,
      leaseSeconds * 1000 * (1 - clockTolerance),
    );
    const countedMs = settings.electionDurationMs + hanging * takeUpMs(settings.leaseDurationSeconds);
    return earlyMs + countedMs / clockTolerance + LONGEST_LOOK * retryMs + SPARE_MS;
  }
}
