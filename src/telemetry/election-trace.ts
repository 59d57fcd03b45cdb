import type { CandidateAccount } from '../election/candidate-accounts.ts';
import { ackDueAt, type Ping } from '../election/candidate-observation.ts';
import type { Action, Decision } from '../election/decision.ts';
import { grantOf, isLeaseWrite, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import { surveyTenure } from '../election/tenure.ts';
import { ApiError, isConflict } from '../kubernetes/errors.ts';
import type { Instant } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { describeAction } from './action-text.ts';
import { formerHolderOf } from './election-result.ts';
import { nameCandidates } from './named-candidates.ts';
import type { TraceAttributes, TraceEvent, TraceSpan } from './trace-span.ts';

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

export type TracedResult = (typeof tracedResults)[number];

/** One election from when it was needed, as far as it has come. */
export interface ElectionCourse {
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
export const MOST_OF_A_KIND = 64;
/** In milliseconds. */
const LONGEST_PING_MS = 2 * 60_000;

export function beginCourse(
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
export function noteDecision(
  course: ElectionCourse,
  decision: Decision,
  input: ElectionInput,
  at: Instant,
): void {
  const { decisions, pings } = course;
  const previous = decisions.at(-1);
  course.last = { decision, input, at };
  for (const { candidate, observation } of decision.standings) {
    const { ping } = observation;
    if (!ping || !isPartOf(course, ping, input)) continue;
    const key = `${ping.sentAt} ${candidate.name}`;
    if (pings.has(key) || pings.size < MOST_OF_A_KIND) pings.set(key, { candidate: candidate.name, ping });
  }
  // Each ack makes for another look, which mostly changes nothing.
  const isNews = decision.actions.length > 0 || previous?.attributes['cle.reason'] !== decision.reason;
  if (!isNews) return;
  const attributes = {
    'cle.reason': decision.reason,
    'cle.actions': decision.actions.slice(0, MOST_OF_A_KIND).map(describeAction),
  };
  push(decisions, { name: 'decide', at, attributes });
}

/** Takes in what has become of one action of the last decision. */
export function noteWrite(course: ElectionCourse, action: Action, error: unknown, at: Instant): void {
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
export function electionTrace(course: ElectionCourse, result: TracedResult, at: Instant): TraceSpan {
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
        outcome.kind === 'conflict' ? outcome.strategies.slice(0, MOST_OF_A_KIND) : undefined,
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
  return (ackedAt ?? sentAt) > since && sentAt > neededSince - LONGEST_PING_MS;
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
  if (list.length === MOST_OF_A_KIND) list.pop();
  list.push(item);
}

function describeAccount(account: CandidateAccount): string {
  const { name, binaryVersion = 'none', emulationVersion = 'none', state, lostBy } = account;
  const standing = lostBy === undefined || lostBy === state ? state : `${state}, ${lostBy}`;
  return `${name} ${binaryVersion}/${emulationVersion}: ${standing}`;
}
