import type { DecisionObserver } from '../controller/observers.ts';
import type { Action, Decision } from '../election/decision.ts';
import { grantOf, isLeaseWrite, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Instant } from '../support/clock.ts';
import { isUndecided, resultOf } from './election-result.ts';
import { needSince, type Rest, restAt } from './election-times.ts';
import {
  beginCourse,
  type ElectionCourse,
  electionTrace,
  noteDecision,
  noteWrite,
  type TracedResult,
} from './election-trace.ts';
import { isStep } from './reason-table.ts';
import type { TraceSpan } from './trace-span.ts';

/** Makes a trace of each election, of what a controller tells of its decisions. */
export interface ElectionTraces extends Omit<DecisionObserver, 'applied' | 'heldBack'> {
  /** This process decides no longer, for now or for ever: whoever does so ends what it has begun. */
  standDown(): void;
}

/** What {@link createElectionTraces} needs. */
export interface ElectionTracesParts {
  readonly now: () => Instant;
  /** Nothing is written: what would have been is traced once, for as long as it would be the same. */
  readonly isDryRun: boolean;
  /** Takes each trace once it has ended; must neither throw nor wait. */
  readonly emit: (trace: TraceSpan) => void;
}

/** An election that takes longer is cut into traces of about this length, in milliseconds. */
const LONGEST_MS = 10 * 60_000;

interface LeaseState {
  course?: ElectionCourse | undefined;
  rest?: Rest | undefined;
  /** What was traced last and would be the same again: that nobody can be elected or, in a dry run, who would be. */
  told?: string | undefined;
}

/** Follows elections of any number of Leases; remembers one course for each Lease that is in an election. */
export function createElectionTraces({ now, isDryRun, emit }: ElectionTracesParts): ElectionTraces {
  const leases = new Map<string, LeaseState>();

  function end(state: LeaseState, result: TracedResult, at: Instant): void {
    if (!state.course) return;
    emit(electionTrace(state.course, result, at));
    state.course = undefined;
  }

  function goOn(state: LeaseState, decision: Decision, input: ElectionInput, at: Instant): void {
    const { course } = state;
    const isTooLong = course !== undefined && at - course.neededSince >= LONGEST_MS;
    if (isTooLong) end(state, 'unfinished', at);
    state.course ??= beginCourse(isTooLong ? at : needSince(state.rest, input, at), decision, input, at);
    noteDecision(state.course, decision, input, at);
  }

  /** Nothing more is to be done: the election that was on, if one was, has come to its end. */
  function rest(state: LeaseState, decision: Decision, input: ElectionInput, at: Instant): void {
    const trouble = isUndecided(decision.reason) ? `${decision.reason} ${decision.conflict}` : undefined;
    if (trouble !== undefined && trouble === state.told) {
      // Another attempt that came to what the last one came to: no election of its own, it goes on with every round.
      state.course = undefined;
    } else if (trouble !== undefined || state.course) {
      goOn(state, decision, input, at);
      end(state, trouble === undefined ? 'unchanged' : 'undecided', at);
    }
    if (!isStep(decision.reason)) state.told = trouble;
    state.rest = restAt(decision, input, at);
  }

  function plan(state: LeaseState, decision: Decision, input: ElectionInput, at: Instant): void {
    const elected = grantOf(decision)?.holder ?? preferredBy(decision);
    const planned = resultOf(decision) && `${decision.reason} ${elected}`;
    if (planned === undefined && isStep(decision.reason)) return;
    if (planned === undefined) {
      state.rest = restAt(decision, input, at);
    } else if (planned !== state.told) {
      goOn(state, decision, input, at);
      end(state, 'planned', at);
    }
    state.told = planned;
  }

  return {
    decided(key, decision, input) {
      const at = now();
      const state = leases.get(key) ?? {};
      leases.set(key, state);
      if (isDryRun) plan(state, decision, input, at);
      else if (isOn(decision)) goOn(state, decision, input, at);
      else rest(state, decision, input, at);
    },
    written(key, action: Action, error, decision) {
      const at = now();
      const state = leases.get(key);
      if (!state?.course) return;
      noteWrite(state.course, action, error, at);
      const result = resultOf(decision);
      if (error !== undefined || !isLeaseWrite(action) || !result) return;
      end(state, result, at);
      state.told = undefined;
      state.rest = { at, isFruitless: false };
    },
    forgotten(key) {
      const state = leases.get(key);
      if (state) end(state, 'unchanged', now());
      leases.delete(key);
    },
    standDown() {
      for (const state of leases.values()) end(state, 'unfinished', now());
      leases.clear();
    },
  };
}

/** Whether an election is on: somebody is asked, or waited for, or the outcome is about to be written. */
function isOn(decision: Decision): boolean {
  return (
    decision.reason === 'AwaitingAcks' ||
    decision.reason === 'AwaitingFormerHolder' ||
    decision.reason === 'FirstElectionSettling' ||
    decision.reason === 'LeaseFenced' ||
    decision.reason === 'RevisionPending' ||
    resultOf(decision) !== undefined
  );
}
