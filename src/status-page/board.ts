import type { ElectionController } from '../controller/election-controller.ts';
import { unledSince } from '../controller/elections-survey.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import { earliestAfter, type Instant, type Now } from '../election/model.ts';
import { livenessExpiry } from '../election/verdict.ts';
import { type ElectionInput, showsElection, standingsIn, surveyElection } from '../election/view.ts';
import { assumeAnswers, COUNTING_DOWN, describeStatus, rank, verdictOn } from '../inspection/lease-status.ts';
import type { Clock } from '../support/clock.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import { electionSteps, troubleLevels } from '../telemetry/election-result.ts';
import { type LeaseEntry, pageJson, type Tone, wallMs } from './wire.ts';

export type LeaseSource = Pick<ElectionController, 'coordinatedLeases' | 'gather'>;

export type Board = ReturnType<typeof createBoard>;

/** Creates a board: the entries of all Leases that the page shows. A board exists only while a page is open. */
export function createBoard(clock: Clock, source: LeaseSource) {
  const rows = new Map<LeaseKey, { readonly text: string; readonly isHeld: boolean }>();
  const stale = new Set(source.coordinatedLeases());
  const deadlines = new DeadlineHeap();
  /** Instant + offset = Unix time in ms. The offset is constant, so that the times in an unchanged entry stay equal. */
  const wallOffsetMs = wallMs(clock) - clock.now();
  let isLoaded = false;

  /** Updates the entry of a Lease. Returns whether the entry was changed, created or deleted. */
  function update(key: LeaseKey, now: Now): boolean {
    const input = source.gather(key);
    const isCoordinated = input.candidates.length > 0 || showsElection(input.lease);
    if (!isCoordinated) {
      deadlines.delete(key);
      return rows.delete(key);
    }
    const { entry, until } = describeLease(input, now, wallOffsetMs);
    if (until === undefined) deadlines.delete(key);
    else deadlines.set(key, until);
    const text = pageJson(entry);
    if (rows.get(key)?.text === text) return false;
    rows.set(key, { text, isHeld: entry.isHeld });
    return true;
  }

  return {
    rows,
    /**
     * Marks the entry of a Lease as outdated.
     * @param isRenewalOnly true if the holder only renewed the Lease. Then, marks the entry only if it shows a vacant Lease.
     * A renewal rarely changes the entry of a held Lease. If it does, the next decision or a deadline marks the entry.
     */
    touch(key: LeaseKey, isRenewalOnly = false): void {
      if (!isRenewalOnly || rows.get(key)?.isHeld === false) stale.add(key);
    },
    /** Updates up to `count` outdated entries. Returns the Leases whose entries were changed, created or deleted. */
    refresh(count: number): readonly LeaseKey[] {
      const now = { monotonic: clock.now(), wall: clock.wallTime() };
      let due = deadlines.popDue(now.monotonic);
      for (; due !== undefined; due = deadlines.popDue(now.monotonic)) stale.add(due);
      const changed: LeaseKey[] = [];
      for (const key of stale.values().take(count)) {
        stale.delete(key);
        if (update(key, now)) changed.push(key);
      }
      isLoaded ||= stale.size === 0;
      return changed;
    },
    /** Whether the entry of any Lease still has to be updated. */
    get isStale(): boolean {
      return stale.size > 0;
    },
    /** True after `refresh` has once updated all outdated entries. At first, all coordinated Leases are outdated. */
    get isLoaded(): boolean {
      return isLoaded;
    },
  };
}

/** An entry with a countdown in seconds is built again after this time, in ms. */
const COUNTDOWN_MS = 1000;

/** Maximum number of candidates in an entry. The command `explain` shows all candidates. */
export const MAX_CANDIDATES = 100;

/**
 * Builds the entry of a Lease, using the controller's own decision function. `until` is the time at which the entry may
 * become outdated even if the Lease and its candidates do not change; undefined if there is no such time.
 * @param wallOffsetMs instant + offset = Unix time in ms
 */
export function describeLease(input: ElectionInput, now: Now, wallOffsetMs: number) {
  const { namespace, name } = input;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const supposed = assumeAnswers(view, decision);
  const status = describeStatus(decision, view);
  const { holder, isHeld, holderNote, preferredHolder, strategy, reason, waitingFor, leaseTransitions } =
    status;
  const ranked = rank(supposed, decision, view, MAX_CANDIDATES);
  const isUnled = view.tenure.kind === 'vacant' && input.candidates.length > 0;
  const since = isUnled ? unledSince(input, view.tenure) : undefined;
  const atWall = (at: Instant) => Math.round(at + wallOffsetMs);
  const ends = [
    decision.requeue.kind === 'at' ? decision.requeue.time : undefined,
    view.tenure.kind === 'held' ? view.tenure.expiresAt : view.tenure.reservation?.until,
    livenessExpiry(view),
    ...(COUNTING_DOWN.has(reason) ? [now.monotonic + COUNTDOWN_MS] : []),
  ];
  const entry: LeaseEntry = {
    key: leaseKey(namespace, name),
    holder,
    isHeld,
    holderNote,
    isUnled,
    unledSince: since === undefined ? undefined : atWall(since),
    preferredHolder,
    strategy,
    reason,
    tone: toneOf({ isUnled, isHeld, reason, preferredHolder }),
    waitingFor,
    verdict: verdictOn(supposed, decision),
    transitions: leaseTransitions,
    candidates: ranked.map(({ binaryVersion, emulationVersion, priorityUntil, ...one }) => ({
      name: one.name,
      binary: binaryVersion,
      emulation: emulationVersion,
      priority: one.priority,
      priorityUntil: priorityUntil === undefined ? undefined : Date.parse(priorityUntil),
      state: one.state,
      lostBy: one.lostBy,
      isHolder: one.isHolder,
      isPreferred: one.isPreferred,
      renewedAt: atWall(now.monotonic - one.renewedSecondsAgo * 1000),
    })),
    total: decision.standings.length,
    silent: standingsIn(decision.standings, 'Unresponsive', 'Expired').length,
  };
  return { entry, until: earliestAfter(now.monotonic, ends) };
}

type ToneFacts = Pick<LeaseEntry, 'isUnled' | 'isHeld' | 'reason' | 'preferredHolder'>;

export function toneOf({ isUnled, isHeld, reason, preferredHolder }: ToneFacts): Tone {
  const trouble = troubleLevels[reason];
  if (isUnled) return 'bad';
  if (trouble === 'warn') return 'warn';
  if (electionSteps.has(reason) || preferredHolder !== '') return 'busy';
  return isHeld && trouble === undefined ? 'good' : 'quiet';
}
