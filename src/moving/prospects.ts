import { type LeaseCandidate, NO_PRIORITY, type Now } from '../election/model.ts';
import { strategies } from '../election/strategies.ts';
import { type CandidateState, type ElectionInput, surveyElection, surveyTenure } from '../election/view.ts';
import type { LockHolder } from '../inspection/evidence.ts';
import { describeLoss, listed, stateTexts } from '../inspection/wording.ts';

const LARGEST = 2 ** 31 - 1;

/** The states of candidates that may lead now, or once they have answered. */
const MAY_LEAD: ReadonlySet<CandidateState> = new Set(['Live', 'Awaiting', 'Idle']);

/**
 * A priority above that of all other candidates, as long as nobody sets another one, and not below 1; undefined where another
 * candidate has the highest that there is.
 */
export function priorityAbove({ candidates }: ElectionInput, name: string): number | undefined {
  const others = candidates
    .filter(({ candidate }) => candidate.name !== name)
    .flatMap(({ candidate: { priority } }) => [priority.value, priority.end?.afterwards ?? priority.value]);
  const highest = others.reduce((most, value) => Math.max(most, value), 0);
  return highest === LARGEST ? undefined : highest + 1;
}

/** Who leads, by a Lease that its holder has taken up (rule 12); undefined: nobody. */
export function leaderOf(input: ElectionInput, now: Now): string | undefined {
  const { lease } = input;
  const tenure = surveyTenure(input, now.monotonic);
  const isTakenUp = lease?.acquireTime === undefined || lease.acquireTime !== lease.renewTime;
  return tenure.kind === 'held' && isTakenUp ? tenure.holder : undefined;
}

/** Why a candidate cannot lead its Lease, though it has that priority; undefined: nothing speaks against it. */
export function obstacleTo(
  input: ElectionInput,
  name: string,
  priority: number,
  now: Now,
): string | undefined {
  const raised = withPriority(input, name, priority);
  const { standings, outlook } = surveyElection(raised, now);
  const standing = standings.find(({ candidate }) => candidate.name === name);
  const lease = `${input.namespace}/${input.name}`;
  if (!standing) {
    const names = standings.map(({ candidate }) => candidate.name);
    return `it is no candidate of ${lease}${names.length === 0 ? ', which has none' : `; there are ${listed(names)}`}`;
  }
  if (!standing.isHolder && !MAY_LEAD.has(standing.state)) return `it ${stateTexts[standing.state]}`;
  const general = obstacleIn(outlook);
  if (general !== undefined) return general;
  return outlook.kind === 'leader' && outlook.leader.name === name ? undefined : describeLoss('NotElectable');
}

/** Why a Lease stays with its leader, who is one of `drained`; undefined: somebody else may take over. */
export function whyItStays(input: ElectionInput, drained: ReadonlySet<string>, now: Now): string | undefined {
  const { standings, outlook } = surveyElection(input, now);
  const general = obstacleIn(outlook);
  if (general !== undefined) return general;
  const order = outlook.kind === 'leader' ? strategies.get(outlook.strategy) : undefined;
  const others = standings.filter(({ candidate }) => !drained.has(candidate.name));
  const isAble = others.some(
    ({ state, candidate }) => MAY_LEAD.has(state) && (order?.isElectable(candidate) ?? false),
  );
  if (isAble) return undefined;
  if (others.length === 0) return 'nobody else is there';
  return `nobody else can lead; ${listed(others.map(({ candidate, state }) => `${candidate.name} is ${state}`))}`;
}

/** Why no leader moves for a priority, whatever the candidates do; undefined: one may. */
export function obstacleAbove(lock: LockHolder): string | undefined {
  if (lock.kind === 'nobody') return 'nobody coordinates; doctor says more';
  if (lock.kind === 'builtIn') {
    return 'the coordinator built into kube-apiserver coordinates, which knows no priority';
  }
  return undefined;
}

function obstacleIn(outlook: ReturnType<typeof surveyElection>['outlook']): string | undefined {
  if (outlook.kind === 'conflict') {
    return `the candidates disagree on the strategy, ${listed(outlook.strategies)}`;
  }
  if (outlook.kind === 'thirdParty') {
    return `another controller decides under the strategy ${outlook.strategy}`;
  }
  return undefined;
}

function withPriority(input: ElectionInput, name: string, priority: number): ElectionInput {
  const raised = (candidate: LeaseCandidate): LeaseCandidate =>
    candidate.name === name ? { ...candidate, priority: { ...NO_PRIORITY, value: priority } } : candidate;
  return {
    ...input,
    candidates: input.candidates.map(({ candidate, observation }) => ({
      candidate: raised(candidate),
      observation,
    })),
  };
}
