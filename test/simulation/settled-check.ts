import { decodeLease } from '../../src/coordination/lease.ts';
import { parseMicroTime } from '../../src/coordination/micro-time.ts';
import { strategies as CARRIED_OUT } from '../../src/election/strategies.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { CandidateState, HistoryEvent } from '../invariants/history.ts';
import { FAULTS } from './faults/faults.ts';
import { PRIORITY_WRITER } from './faults/priority-faults.ts';
import { LedCheck } from './led-check.ts';
import { specOf } from './sim-api-server.ts';
import { SimParticipant } from './sim-participant.ts';
import type { LeasePlan } from './sim-plan.ts';
import { coordinatorsWall, prioritiesEndedAt, rankOf } from './sim-rank.ts';
import type { SimSlot } from './sim-slot.ts';
import type { SimWorld } from './sim-world.ts';

/**
 * Without faults: the first coordinator gets the lock after a forced claim has settled (15 s), or after another
 * holder's lock has expired (15 s) and a check within 2 s. Then an election takes at most 5 s, and client-go reads
 * the Lease every 2 to 4.4 s, or in its own retry period. A Lease of 60 s may have been granted right before.
 */
const BASE_MS = 60_000;
/**
 * A failed preference is repeated after 15 s at the earliest, then after twice as long each time, up to 10 min (rule
 * 7).
 */
const PREEMPTION_BACKOFF = { firstMs: 15_000, maxMs: 600_000 };
/** If a preferredHolder loses the Lease this soon, the preference counts as failed, too (rule 7). */
const PROBATION_MS = 60_000;
/**
 * Ignored fields are written again after 30 s at the earliest, then after twice as long each time, up to 10 min (rule
 * 7).
 */
const IGNORED_BACKOFF = { firstMs: 30_000, maxMs: 600_000 };
/**
 * A candidate whose clock is further behind the coordinator's looks expired at first sight, and is not pinged while
 * the Lease has a leader (rule 1).
 */
export const FAR_BEHIND_MS = -20 * 60_000;
/** A candidate is pinged after this time or half its validity, or up to a tenth earlier (rule 1). */
const SILENT_AFTER_MS = 6 * 60_000;

type CandidateWrite = Extract<HistoryEvent, { kind: 'candidate' }>;

interface LeaseStory {
  /** When an event that can cause an election last happened to the Lease or one of its candidates. */
  disturbedAt: Instant;
  /** When a holder was last asked to yield. */
  preferredAt: Instant;
  /** The candidate that a coordinator prefers. A release by client-go removes it from the Lease before the grant. */
  preferred: string | undefined;
  failedPreferences: number;
  /** When the Lease last went to a preferredHolder that has kept it since. */
  preemptedAt: Instant;
  ignoredPreferences: number;
  /** How often other clients have overwritten the coordinator's strategy since the last grant. */
  overwrittenStrategies: number;
  /** Number of consecutive grants that each candidate has let expire. */
  readonly lapses: Map<string, number>;
  leader: string | undefined;
  /** Until when the leader believes that it leads. */
  ledUntil: Instant;
}

/**
 * Checks that, after all faults are over, every Lease gets its best live candidate within a bound, and that nothing
 * is written after that.
 */
export class SettledCheck {
  readonly #world: SimWorld;
  readonly #stories: ReadonlyMap<string, LeaseStory>;
  /** By candidate name: when it last wrote its LeaseCandidate. */
  readonly #renewedAt: ReadonlyMap<string, Instant>;
  readonly #endedAt: Instant;
  readonly #boundMs: number;
  readonly #led: LedCheck;
  /** Settled Leases, and their leaders. */
  readonly #settled = new Map<string, string>();

  /** From the end of all faults. */
  constructor(world: SimWorld, stories: LeaseStories) {
    this.#world = world;
    this.#stories = stories.byLease;
    this.#renewedAt = stories.renewedAt;
    this.#endedAt = world.clock.now();
    const bounds = world.plan.faults.map(({ kind }) => FAULTS[kind].settlesWithin.ms);
    this.#boundMs = Math.max(BASE_MS, ...bounds);
    this.#led = new LedCheck(world, stories, this.#endedAt + this.#boundMs);
  }

  /** Returns the violation at this moment, if there is one. */
  look(): readonly string[] {
    return this.#world.plan.leases.flatMap((lease) => this.#lookAt(lease));
  }

  observe(event: HistoryEvent): readonly string[] {
    if (event.kind !== 'lease' && event.kind !== 'candidate') return [];
    if (event.writer.kind !== 'coordinator') return [];
    if (event.kind === 'lease') {
      const isInOrder = this.#isInOrder(event.key);
      return isInOrder ? [`${event.writer.name} writes ${event.key}, which is in order`] : [];
    }
    return this.#isNeedless(event) ? [`${event.writer.name} writes ${event.key} without need`] : [];
  }

  /** A ping of a running candidate that has renewed in time and whose Lease is settled. */
  #isNeedless({ at, key, before }: CandidateWrite): boolean {
    const slot = this.#world.slots.find(
      ({ candidate }) => candidate && key === `${candidate.identity.namespace}/${candidate.identity.name}`,
    );
    if (!slot?.candidate || !this.#isInOrder(slot.key)) return false;
    if (this.#world.isLeftBehind(key, before?.uid)) return false;
    // The coordinator notices a clock that was set back with the next renewal, up to five minutes later (rule 2).
    if (pingAheadMs(before) > this.#world.plan.settings.electionDurationMs) return false;
    const { name } = slot.candidate.identity;
    const writtenMs = at - (this.#renewedAt.get(name) ?? Number.NEGATIVE_INFINITY);
    // A renewal may have arrived late. Its renewTime is older then.
    const renewTime = parseMicroTime(String(before?.renewTime)) ?? 0n;
    const ageMs = Number(slot.candidate.process.wallTime() - renewTime) / 1000;
    const silentMs = Math.max(writtenMs, ageMs);
    const aheadMs = this.#world.coordinators.aheadMs;
    const askedAfterMs =
      0.9 *
      this.#world.plan.clockTolerance *
      Math.min(SILENT_AFTER_MS, this.#world.plan.settings.candidateValidityMs / 2);
    // A ping in the time of a slow clock is soon ahead of that clock, and another ping corrects it (rule 2).
    if (this.#world.plan.clockTolerance < 1) return false;
    const { lowestSkewMs, wallSkewMs } = slot.candidate.process;
    const isRight = Math.abs(wallSkewMs) < 60_000;
    return silentMs + aheadMs + Math.max(0, -lowestSkewMs) < askedAfterMs && isRight;
  }

  /** Whether the Lease was settled and nothing has changed since then. A priority may have ended between two checks. */
  #isInOrder(key: string): boolean {
    const lease = this.#world.plan.leases.find(({ namespace, name }) => key === `${namespace}/${name}`);
    const story = this.#stories.get(key);
    if (!lease || !story || !this.#settled.has(key)) return false;
    return this.#world.clock.now() >= this.#dueAt(lease, story, this.#slotsOf(key));
  }

  #slotsOf(key: string): readonly SimSlot[] {
    return this.#world.slots.filter((slot) => slot.key === key);
  }

  #lookAt(lease: LeasePlan): readonly string[] {
    const key = `${lease.namespace}/${lease.name}`;
    const story = this.#stories.get(key);
    const now = this.#world.clock.now();
    const slots = this.#slotsOf(key);
    const isHanging = slots.some((slot) => slot.isHanging);
    if (isHanging || !story || now < this.#dueAt(lease, story, slots)) {
      this.#settled.delete(key);
      return isHanging && story ? this.#lookForLeader(lease, story, slots) : [];
    }
    const unpublished = slots.find((slot) => isStanding(slot) && !this.#published(slot));
    if (unpublished) return [`${unpublished.program?.name} has no LeaseCandidate ${this.#sinceEnd()}`];
    const well = slots.filter((slot) => this.#isWell(slot));
    const wanted = wantedStrategy(slots);
    if (well.length === 0 || wanted === undefined) return [];
    const leader = story.ledUntil > now ? story.leader : undefined;
    if (leader === undefined) return [`${key} has no leader ${this.#sinceEnd()}`];
    if (slots.some(({ plan }) => plan.isPlain)) return [];
    const leading = slots.find(({ program }) => program?.name === leader);
    if (!leading) return [`${key} is led by ${leader}, which does not run, ${this.#sinceEnd()}`];
    const leadersRank = this.#rank(leading);
    const better = well.find((slot) => this.#isFreeToLead(slot, story) && this.#rank(slot) < leadersRank);
    if (better) {
      return [`${key} is led by ${leader}, though ${better.program?.name} is better, ${this.#sinceEnd()}`];
    }
    // A better candidate may still appear: it is not published yet, or is pinged only after its renewal.
    if (slots.some((slot) => this.#rank(slot) < leadersRank)) return [];
    const stored = this.#world.store.get('leases', key);
    const { preferredHolder, strategy } = stored ? decodeLease(stored) : {};
    if (preferredHolder !== undefined) return [`${key} still has a preferredHolder`];
    // Without valid candidates there is no strategy to write.
    if (!well.some((slot) => this.#isFreeToLead(slot, story))) return [];
    if (strategy !== wanted) return [`${key} names the strategy ${String(strategy)}`];
    const former = this.#settled.get(key);
    if (former !== undefined && former !== leader)
      return [`${key} goes from ${former} to ${leader} without need`];
    const misled = well.find((slot) => former === leader && isMisled(slot, leader));
    if (misled) return [`${misled.program?.name} does not know that ${leader} leads ${key}`];
    this.#settled.set(key, leader);
    return [];
  }

  #lookForLeader(lease: LeasePlan, story: LeaseStory, slots: readonly SimSlot[]): readonly string[] {
    if (wantedStrategy(slots) === undefined) return [];
    const well = slots.filter((slot) => this.#isWell(slot) && this.#isFreeToLead(slot, story));
    return this.#led.look(lease, slots, well);
  }

  #sinceEnd(): string {
    return `${Math.round((this.#world.clock.now() - this.#endedAt) / 1000)} s after all faults`;
  }

  /** From when the Lease must be settled. */
  #dueAt(lease: LeasePlan, story: LeaseStory, slots: readonly SimSlot[]): Instant {
    const { failedPreferences, ignoredPreferences, overwrittenStrategies, disturbedAt, preferredAt } = story;
    // A candidate whose clock is far behind is valid only after it renews, so it may be preferred very late.
    const hasLateComer = slots.some((slot) => !this.#isFreeToLead(slot, story));
    // A candidate whose preference has failed before may be preferred late, too, because of the backoff.
    const isPreferredLate = hasLateComer || failedPreferences > 0;
    const movedAt = isPreferredLate ? Math.max(disturbedAt, preferredAt) : disturbedAt;
    const endedAt = prioritiesEndedAt(
      this.#world,
      slots.flatMap((slot) => this.#published(slot) ?? []),
    );
    const touchedAt = Math.max(movedAt, endedAt, ...slots.map((slot) => slot.touchedAt));
    // A holder that is asked to yield lets its Lease expire. Before its grant, the Lease may have been reserved for a
    // former holder for as long.
    const own =
      Math.max(this.#endedAt + this.#boundMs, touchedAt + BASE_MS) +
      2 * lease.timing.leaseSeconds * 1000 +
      this.#fenceMs(lease);
    return (
      own +
      backoff(failedPreferences, PREEMPTION_BACKOFF) +
      // No other client removes what a coordinator wrote, or even keeps its notes off the Lease (rule 14).
      (slots.some(({ plan }) => plan.isPlain) ? backoff(ignoredPreferences, IGNORED_BACKOFF) : 0) +
      // Another client has overwritten the coordinator's strategy, and may do so again.
      backoff(overwrittenStrategies, IGNORED_BACKOFF)
    );
  }

  /** Extra time until a holder yields if the server drops the field that asks it to (rule 14). */
  #fenceMs({ timing }: LeasePlan): number {
    const { hasGate, settings } = this.#world.plan;
    return hasGate ? 0 : 2 * settings.electionDurationMs + timing.retryMs + timing.leaseSeconds * 1000;
  }

  /** Whether the program can take part in an election: it runs, and has published its LeaseCandidate. */
  #isWell(slot: SimSlot): boolean {
    const { candidate } = slot;
    if (!candidate || slot.isHanging || slot.program?.process.isPaused) return false;
    const { namespace, name } = candidate.identity;
    return this.#world.published(`${namespace}/${name}`) !== undefined;
  }

  #published({ candidate }: SimSlot): KubernetesObject | undefined {
    const { namespace, name } = candidate?.identity ?? { namespace: '', name: '' };
    return this.#world.published(`${namespace}/${name}`);
  }

  /** Compares published priorities and versions. Age and name never take a Lease from a holder (rule 5). */
  #rank(slot: SimSlot): string {
    const published = this.#published(slot) ?? { metadata: { name: '' }, spec: slot.plan };
    return rankOf(published, coordinatorsWall(this.#world), slot.plan.strategy);
  }

  #isFreeToLead({ candidate }: SimSlot, { lapses }: LeaseStory): boolean {
    if (!candidate) return false;
    const hasLapsed = (lapses.get(candidate.identity.name) ?? 0) > 1;
    const aheadMs = this.#world.coordinators.aheadMs;
    const isFarBehind = candidate.process.lowestSkewMs - aheadMs <= FAR_BEHIND_MS;
    return !hasLapsed && !isFarBehind && !this.#mayBeHidden(candidate.identity);
  }

  /**
   * Whether it has a twin in the other group that looks equally fresh to a coordinator with a slow clock that sees it
   * for the first time.
   */
  #mayBeHidden({ namespace, name }: { readonly namespace: string; readonly name: string }): boolean {
    const wall = coordinatorsWall(this.#world);
    const renewTimes = this.#world.store
      .candidates()
      .filter(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
      .map((twin) => {
        const { renewTime } = specOf(twin);
        return parseMicroTime(String(renewTime)) ?? 0n;
      });
    return renewTimes.length > 1 && renewTimes.every((renewTime) => renewTime > wall);
  }
}

/** The events of each Lease so far. */
export class LeaseStories {
  readonly byLease = new Map<string, LeaseStory>();
  readonly renewedAt = new Map<string, Instant>();

  observe(event: HistoryEvent): void {
    switch (event.kind) {
      case 'leads':
        this.#changed(event.key, { leader: event.who, ledUntil: event.until });
        this.#of(event.key).lapses.delete(event.who);
        break;
      case 'follows':
        if (this.#of(event.key).leader === event.who) this.#changed(event.key, { ledUntil: event.at });
        break;
      case 'candidate':
        this.#candidateWritten(event);
        break;
      case 'lease':
        this.#leaseWritten(event);
        break;
      default:
    }
  }

  #candidateWritten({ at, writer, key, before, after }: CandidateWrite): void {
    if (writer.kind === 'candidate') this.renewedAt.set(writer.name, at);
    const [namespace] = key.split('/');
    // Pings and renewals of a known candidate do not count as news. A changed priority does.
    if (before === undefined || after === undefined || writer.name === PRIORITY_WRITER)
      this.#changed(`${namespace}/${(after ?? before)?.leaseName}`, { disturbedAt: at });
  }

  #leaseWritten({ at, writer, key, before, after }: Extract<HistoryEvent, { kind: 'lease' }>): void {
    const story = this.#of(key);
    if (writer.kind === 'other') {
      story.disturbedAt = at;
      if (before?.strategy !== after?.strategy) story.overwrittenStrategies++;
    }
    if (writer.kind !== 'coordinator' || !after) return;
    // This change resets the holder that had got the Lease before and led because of it.
    if (after.holder !== before?.holder || after.renewTime !== before.renewTime)
      story.lapses.set(after.holder, (story.lapses.get(after.holder) ?? 0) + 1);
    if (after.holder !== before?.holder) {
      story.overwrittenStrategies = 0;
      this.#granted(story, at, story.preferred, after.holder);
      story.preferred = undefined;
    } else if (before?.preferredHolder === undefined && after.preferredHolder !== undefined) {
      story.preferredAt = at;
      story.preferred = after.preferredHolder;
    } else if (before?.preferredHolder !== undefined && after.preferredHolder === undefined) {
      story.failedPreferences++;
      story.preferred = undefined;
    } else if (before.renewTime === after.renewTime && before.preferredHolder === after.preferredHolder) {
      // The server has dropped the written fields.
      story.ignoredPreferences++;
    }
  }

  #granted(story: LeaseStory, at: Instant, preferred: string | undefined, holder: string): void {
    const isPreemption = preferred === holder;
    const isEarlyLoss = !isPreemption && at < story.preemptedAt + PROBATION_MS;
    const hasPreferredFailed = preferred !== undefined && !isPreemption;
    if (isEarlyLoss || hasPreferredFailed) story.failedPreferences++;
    if (isPreemption) story.preemptedAt = at;
    else if (isEarlyLoss) story.preemptedAt = Number.NEGATIVE_INFINITY;
  }

  #of(key: string): LeaseStory {
    const story = this.byLease.get(key) ?? {
      disturbedAt: 0,
      preferredAt: 0,
      preferred: undefined,
      failedPreferences: 0,
      preemptedAt: Number.NEGATIVE_INFINITY,
      ignoredPreferences: 0,
      overwrittenStrategies: 0,
      lapses: new Map(),
      leader: undefined,
      ledUntil: 0,
    };
    this.byLease.set(key, story);
    return story;
  }

  #changed(key: string, change: Partial<LeaseStory>): void {
    Object.assign(this.#of(key), change);
  }
}

/** Returns the strategy that all candidates ask for, if coordinators support it. */
function wantedStrategy(slots: readonly SimSlot[]): string | undefined {
  const strategies = new Set(slots.map(({ plan }) => plan.strategy));
  const [wanted = ''] = strategies;
  return strategies.size === 1 && CARRIED_OUT.has(wanted) ? wanted : undefined;
}

/**
 * Whether the program is a participant that others can elect. Unlike client-go, it publishes a deleted candidate
 * again at once.
 */
function isStanding({ candidate }: SimSlot): boolean {
  return candidate instanceof SimParticipant && candidate.participant.state.isStanding;
}

/** Whether a participant believes in the wrong leader, or in none. */
function isMisled({ candidate }: SimSlot, leader: string): boolean {
  if (!(candidate instanceof SimParticipant)) return false;
  const { holder, role } = candidate.participant.state;
  return holder !== leader || (role === 'leading') !== (candidate.identity.name === leader);
}

/** How far the ping to a candidate is ahead of its last renewal, both in the candidate's time. */
function pingAheadMs({ pingTime, renewTime }: Partial<CandidateState> = {}): number {
  return pingTime && renewTime ? Date.parse(pingTime) - Date.parse(renewTime) : 0;
}

function backoff(failures: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  return failures === 0 ? 0 : Math.min(maxMs, firstMs * 2 ** (failures - 1));
}
