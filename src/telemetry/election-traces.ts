import type { DecisionObserver } from '../controller/controller-parts.ts';
import { ackDueAt, type Ping } from '../election/candidate-observation.ts';
import {
  type Action,
  type CandidateAccount,
  type Decision,
  grantOf,
  isLeaseWrite,
  preferredBy,
} from '../election/decision.ts';
import { type ElectionInput, surveyTenure } from '../election/view.ts';
import { ApiError, isConflict } from '../kubernetes/errors.ts';
import type { Instant } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import {
  describeAction,
  formerHolderOf,
  isStep,
  isUndecided,
  needSince,
  type Rest,
  restAt,
  resultOf,
} from './election-result.ts';
import { nameCandidates } from './lease-event.ts';

/** Turns the decisions of a controller into one trace per election. */
export interface ElectionTraces extends Omit<DecisionObserver, 'applied' | 'heldBack'> {
  /** This process has lost the lock or stops. The next leader completes elections in flight. */
  standDown(): void;
}

interface ElectionTracesParts {
  readonly now: () => Instant;
  /** In a dry run nothing is written. An election is traced once for as long as its outcome stays the same. */
  readonly isDryRun: boolean;
  /** Receives each trace when it has ended. Must neither throw nor wait. */
  readonly emit: (trace: TraceSpan) => void;
}

/** A longer election is split into traces of about this length, in milliseconds. */
const MAX_TRACE_MS = 10 * 60_000;

interface LeaseState {
  course?: ElectionCourse | undefined;
  rest?: Rest | undefined;
  /**
   * The last traced outcome: no electable candidate or, in a dry run, the planned leader. Not traced again while it
   * stays the same.
   */
  told?: string | undefined;
}

/** Traces the elections of all Leases. Remembers one course for each Lease in an election. */
export function createElectionTraces({ now, isDryRun, emit }: ElectionTracesParts): ElectionTraces {
  const leases = new Map<string, LeaseState>();

  function end(state: LeaseState, result: TracedResult, at: Instant): void {
    if (!state.course) return;
    emit(electionTrace(state.course, result, at));
    state.course = undefined;
  }

  function goOn(state: LeaseState, decision: Decision, input: ElectionInput, at: Instant): void {
    const { course } = state;
    const isTooLong = course !== undefined && at - course.neededSince >= MAX_TRACE_MS;
    if (isTooLong) end(state, 'unfinished', at);
    state.course ??= beginCourse(isTooLong ? at : needSince(state.rest, input, at), decision, input, at);
    noteDecision(state.course, decision, input, at);
  }

  /** No more actions follow. Ends the election of the Lease, if there is one. */
  function rest(state: LeaseState, decision: Decision, input: ElectionInput, at: Instant): void {
    const trouble = isUndecided(decision.reason) ? `${decision.reason} ${decision.conflict}` : undefined;
    if (trouble !== undefined && trouble === state.told) {
      // A retry with the same outcome is not an election of its own. It repeats in every round.
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

/** Attributes of a span or event, without undefined ones. */
export type TraceAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

/** An event within a span. */
interface TraceEvent {
  readonly name: string;
  readonly at: Instant;
  readonly attributes: TraceAttributes;
}

/** A span and its children. The outermost span is a trace. */
export interface TraceSpan {
  readonly name: string;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** Set if the span is a call to another program. */
  readonly isCall?: boolean;
  readonly attributes: TraceAttributes;
  /** The error; undefined if there is none. */
  readonly error: string | undefined;
  readonly events: readonly TraceEvent[];
  readonly children: readonly TraceSpan[];
}

/**
 * How an election ended that was traced. Beside the results that are counted (`failed` is that of an attempt) there are:
 * unchanged: after all nothing was to be done. unfinished: whoever followed it stopped doing so. planned: a dry run would
 * have written it.
 */
export const tracedResults = [
  'granted',
  'revised',
  'preferred',
  'delegated',
  'undecided',
  'unchanged',
  'unfinished',
  'planned',
] as const;

type TracedResult = (typeof tracedResults)[number];

/** One election from when it was needed, as far as it has come. */
interface ElectionCourse {
  readonly neededSince: Instant;
  readonly decisions: TraceEvent[];
  /** By their candidates and when they were sent. */
  readonly pings: Map<string, { readonly candidate: string; readonly ping: Ping }>;
  /** Pings that the server did not take. */
  readonly failedPings: TraceSpan[];
  readonly writes: TraceSpan[];
  /** How often it was tried to write the Lease. */
  attempts: number;
  last: { readonly decision: Decision; readonly input: ElectionInput; readonly at: Instant };
}

/** Of each kind of children and events of a trace there are not more. */
export const MAX_OF_A_KIND = 64;

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

/** In milliseconds. */
const MAX_PING_MS = 2 * 60_000;

function beginCourse(
  neededSince: Instant,
  decision: Decision,
  input: ElectionInput,
  at: Instant,
): ElectionCourse {
  return {
    neededSince,
    decisions: [],
    pings: new Map(),
    failedPings: [],
    writes: [],
    attempts: 0,
    last: { decision, input, at },
  };
}

/** Takes in one more decision on the way. */
function noteDecision(course: ElectionCourse, decision: Decision, input: ElectionInput, at: Instant): void {
  const { decisions, pings } = course;
  const previous = decisions.at(-1);
  course.last = { decision, input, at };
  for (const { candidate, observation } of decision.standings) {
    const { ping } = observation;
    if (!ping || !isPartOf(course, ping, input)) continue;
    const key = `${ping.sentAt} ${candidate.name}`;
    if (pings.has(key) || pings.size < MAX_OF_A_KIND) pings.set(key, { candidate: candidate.name, ping });
  }
  // Each ack makes for another look, which mostly changes nothing.
  const isNews = decision.actions.length > 0 || previous?.attributes['cle.reason'] !== decision.reason;
  if (!isNews) return;
  const attributes = {
    'cle.reason': decision.reason,
    'cle.actions': decision.actions.slice(0, MAX_OF_A_KIND).map(describeAction),
  };
  push(decisions, { name: 'decide', at, attributes });
}

/** Takes in what has become of one action of the last decision. */
function noteWrite(course: ElectionCourse, action: Action, error: unknown, at: Instant): void {
  const span = (name: string, attributes: TraceAttributes, startedAt = course.last.at): TraceSpan => ({
    name,
    startedAt,
    endedAt: at,
    isCall: true,
    attributes: {
      ...attributes,
      'http.response.status_code': error instanceof ApiError ? error.status : undefined,
    },
    error: error === undefined || isConflict(error) ? undefined : messageOf(error),
    events: [],
    children: [],
  });
  if (isLeaseWrite(action)) course.attempts++;
  if (action.kind !== 'PingCandidate') {
    const result = error === undefined ? 'ok' : isConflict(error) ? 'conflict' : 'error';
    push(course.writes, span('write', { 'cle.action': describeAction(action), 'cle.result': result }));
  } else if (error !== undefined) {
    const result = isConflict(error) ? 'conflict' : 'failed';
    const sentAt = forgetOpenPing(course, action.name);
    push(course.failedPings, span('ping', pingAttributes(action.name, action.purpose, result), sentAt));
  }
}

/** Takes out the ping to a candidate that other decisions have seen on its way; gives when it was sent. */
function forgetOpenPing({ pings }: ElectionCourse, name: string): Instant | undefined {
  for (const [key, { candidate, ping }] of pings) {
    if (candidate !== name || ping.deliveredAt !== undefined || ping.ackedAt !== undefined) continue;
    pings.delete(key);
    return ping.sentAt;
  }
  return undefined;
}

/** The trace of an election that ended at `at`. */
function electionTrace(course: ElectionCourse, result: TracedResult, at: Instant): TraceSpan {
  const { neededSince, decisions, attempts, writes, failedPings, last } = course;
  const { decision, input } = last;
  const { outcome, standings, reason } = decision;
  const pings = [...pingSpans(course, at), ...failedPings];
  // What was decided and could not be written is told by the decision alone.
  const isDone =
    result === 'granted' || result === 'revised' || result === 'preferred' || result === 'planned';
  const accounts = nameCandidates(decision).named.map(describeAccount);
  return {
    name: 'election',
    startedAt: Math.min(neededSince, ...pings.map(({ startedAt }) => startedAt)),
    endedAt: at,
    attributes: {
      'cle.lease.namespace': input.namespace,
      'cle.lease.name': input.name,
      'cle.result': result,
      'cle.reason': reason,
      'cle.holder': (isDone && grantOf(decision)?.holder) || validHolder(input, last.at),
      'cle.former_holder': isDone ? formerHolderOf(decision, input) : undefined,
      'cle.preferred_holder': isDone ? preferredBy(decision) : undefined,
      'cle.strategy': 'strategy' in outcome ? outcome.strategy : undefined,
      'cle.conflicting_strategies':
        outcome.kind === 'conflict' ? outcome.strategies.slice(0, MAX_OF_A_KIND) : undefined,
      'cle.candidate_count': standings.length,
      'cle.attempts': attempts,
    },
    error: result === 'undecided' ? reason : undefined,
    events: [
      { name: 'need', at: neededSince, attributes: {} },
      ...decisions.map((event, index) =>
        index === decisions.length - 1
          ? { ...event, attributes: { ...event.attributes, 'cle.candidates': accounts } }
          : event,
      ),
    ],
    children: [...pings.sort((a, b) => a.startedAt - b.startedAt), ...writes],
  };
}

/**
 * An ack counts until an election is decided; a ping without one only for the election that it was sent for. One that lay
 * there for longer than rounds of pings are apart tells of a candidate that came back, not of the election.
 */
function isPartOf({ neededSince }: ElectionCourse, ping: Ping, { memory, settings }: ElectionInput): boolean {
  const { sentAt, ackedAt } = ping;
  const since = Math.max(memory.decidedAt, neededSince - 2 * settings.electionDurationMs);
  return (ackedAt ?? sentAt) > since && sentAt > neededSince - MAX_PING_MS;
}

function pingSpans({ pings, failedPings, last }: ElectionCourse, at: Instant): readonly TraceSpan[] {
  return [...pings.values()].flatMap(({ candidate, ping }): TraceSpan[] => {
    const { sentAt, ackedAt, purpose } = ping;
    const hasFailed = failedPings.some(
      ({ attributes, startedAt, endedAt }) =>
        attributes['cle.candidate'] === candidate && startedAt <= sentAt && sentAt <= endedAt,
    );
    if (hasFailed) return [];
    const deadline = ackDueAt(ping, last.input.settings);
    const result = ackedAt !== undefined ? 'answered' : at >= deadline ? 'unanswered' : 'unawaited';
    return [
      {
        name: 'ping',
        startedAt: sentAt,
        endedAt: ackedAt ?? Math.min(at, deadline),
        isCall: true,
        attributes: pingAttributes(candidate, purpose, result),
        error: undefined,
        events: [],
        children: [],
      },
    ];
  });
}

type PingResult = 'answered' | 'unanswered' | 'unawaited' | 'conflict' | 'failed';

function pingAttributes(candidate: string, purpose: Ping['purpose'], result: PingResult): TraceAttributes {
  return { 'cle.candidate': candidate, 'cle.purpose': purpose, 'cle.result': result };
}

function validHolder(input: ElectionInput, at: Instant): string | undefined {
  const tenure = surveyTenure(input, at);
  return tenure.kind === 'held' ? tenure.holder : undefined;
}

/** How an election ended matters more than what was in the middle of it. */
function push<T>(list: T[], item: T): void {
  if (list.length === MAX_OF_A_KIND) list.pop();
  list.push(item);
}

function describeAccount(account: CandidateAccount): string {
  const { name, binaryVersion = 'none', emulationVersion = 'none', state, lostBy } = account;
  const standing = lostBy === undefined || lostBy === state ? state : `${state}, ${lostBy}`;
  return `${name} ${binaryVersion}/${emulationVersion}: ${standing}`;
}
