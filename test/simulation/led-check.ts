import { USUAL_DURATION_MS } from '../../src/election/beliefs.ts';
import { takeUpMs } from '../../src/election/lease-memory.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { LeaseStories } from './settled-check.ts';
import { specOf } from './sim-api-server.ts';
import type { LeasePlan } from './sim-plan.ts';
import type { SimSlot } from './sim-slot.ts';
import type { SimWorld } from './sim-world.ts';

/** client-go's elector looks this many retry periods later, at the latest. */
const LONGEST_LOOK = 2.2;
/** For requests and pings, and between two looks of this check. */
const SPARE_MS = 4000;

/**
 * Sees to it that a Lease some of whose candidates only answer pings, as their electors hang, is never long without a leader,
 * as long as another candidate is well. It is not in order otherwise: a better candidate that hangs is tried again and again.
 */
export class LedCheck {
  readonly #world: SimWorld;
  readonly #stories: LeaseStories;
  readonly #from: Instant;
  /** By Lease: the renewTime of a grant that nobody has taken up, and since when it is known. */
  readonly #untaken = new Map<string, { readonly renewTime: unknown; readonly since: Instant }>();
  /** By Lease: when a coordinator last kept it for a former holder. */
  readonly #reserved = new Map<string, Instant>();
  readonly #wellSince = new Map<SimSlot, Instant>();

  /** @param from when each Lease has to be in order at the latest */
  constructor(world: SimWorld, stories: LeaseStories, from: Instant) {
    this.#world = world;
    this.#stories = stories;
    this.#from = from;
  }

  /** What is not as it should be now; `well` are the candidates of the Lease that could lead. */
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
    // A grant that is not taken up within this time goes to somebody else who lives (rule 12).
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

  /** Since when one of them has been well: a leader that yields ends, and its program is started again. */
  #noteWell(slots: readonly SimSlot[], well: readonly SimSlot[]): Instant {
    const since = well.map((slot) =>
      Math.max(this.#wellSince.get(slot) ?? this.#world.clock.now(), slot.touchedAt),
    );
    for (const slot of slots) this.#wellSince.delete(slot);
    for (const [index, slot] of well.entries()) this.#wellSince.set(slot, since[index] ?? 0);
    return Math.min(...since);
  }

  /**
   * Until when a coordinator has kept the Lease for a holder that may believe in it (rule 8), but not for longer than such a
   * belief lasts.
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

  /** Since when the Lease is granted to an elector that hangs, and has not been taken up; Infinity where it is not. */
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
    // A leader stops so much before its Lease runs out.
    const earlyMs = Math.max(
      leaseSeconds * 1000 - renewDeadlineMs - retryMs,
      leaseSeconds * 1000 * (1 - clockTolerance),
    );
    const countedMs = settings.electionDurationMs + hanging * takeUpMs(settings.leaseDurationSeconds);
    return earlyMs + countedMs / clockTolerance + LONGEST_LOOK * retryMs + SPARE_MS;
  }
}
