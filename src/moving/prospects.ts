import { NO_PRIORITY, type Now } from '../election/model.ts';
import type { Outcome } from '../election/outcome.ts';
import { strategies } from '../election/strategies.ts';
import { type CandidateState, type ElectionInput, surveyElection, surveyTenure } from '../election/view.ts';
import type { LockHolder } from '../inspection/evidence.ts';
import { describeLoss, listed, stateTexts } from '../inspection/wording.ts';

const LARGEST = 2 ** 31 - 1;

/** States in which a candidate can lead, now or after it answers a ping. Excludes held back candidates (rule 3). */
const MAY_LEAD: ReadonlySet<CandidateState> = new Set(['Live', 'Awaiting', 'Idle']);

/** Returns a priority above 0 and above the current and later ones of other candidates; undefined if no int32 is higher. */
export function priorityAbove({ candidates }: ElectionInput, name: string): number | undefined {
  const others = candidates
    .filter(({ candidate }) => candidate.name !== name)
    .flatMap(({ candidate: { priority } }) => [priority.value, priority.end?.afterwards ?? priority.value]);
  const highest = others.reduce((most, value) => Math.max(most, value), 0);
  return highest === LARGEST ? undefined : highest + 1;
}

/** Returns the valid holder; undefined if there is none, or if renewTime equals acquireTime: an unrenewed grant (rule 12). */
export function leaderOf(input: ElectionInput, now: Now): string | undefined {
  const { lease } = input;
  const tenure = surveyTenure(input, now.monotonic);
  const isTakenUp = lease?.acquireTime === undefined || lease.acquireTime !== lease.renewTime;
  return tenure.kind === 'held' && isTakenUp ? tenure.holder : undefined;
}

/** Returns why a candidate could not lead even if it had this priority; undefined if no obstacle is known. */
export function obstacleTo(
  input: ElectionInput,
  name: string,
  priority: number,
  now: Now,
): string | undefined {
  const candidates = input.candidates.map((observed) => {
    if (observed.candidate.name !== name) return observed;
    return {
      ...observed,
      candidate: { ...observed.candidate, priority: { ...NO_PRIORITY, value: priority } },
    };
  });
  const { standings, outlook } = surveyElection({ ...input, candidates }, now);
  const standing = standings.find(({ candidate }) => candidate.name === name);
  const lease = `${input.namespace}/${input.name}`;
  if (!standing) {
    const names = standings.map(({ candidate }) => candidate.name);
    return `it is not a candidate of ${lease}${names.length === 0 ? ', which has none' : `; there are ${listed(names)}`}`;
  }
  if (!standing.isHolder && !MAY_LEAD.has(standing.state)) return `it ${stateTexts[standing.state]}`;
  const general = obstacleIn(outlook);
  if (general !== undefined) return general;
  if (outlook.kind !== 'leader') return describeLoss('NotElectable');
  if (outlook.leader.name === name) return undefined;
  const isElectable = strategies.get(outlook.strategy)?.isElectable(standing.candidate);
  return isElectable ? `${outlook.leader.name} comes before it` : describeLoss('NotElectable');
}

/** Returns why a drain cannot move the lead; undefined if a candidate that is not in `drained` may take over. */
export function reasonToStay(
  input: ElectionInput,
  drained: ReadonlySet<string>,
  now: Now,
): string | undefined {
  const { standings, outlook } = surveyElection(input, now);
  const general = obstacleIn(outlook);
  if (general !== undefined) return general;
  const order = outlook.kind === 'leader' ? strategies.get(outlook.strategy) : undefined;
  const others = standings.filter(({ candidate }) => !drained.has(candidate.name));
  const isAble = others.some(
    ({ state, candidate }) => MAY_LEAD.has(state) && (order?.isElectable(candidate) ?? false),
  );
  if (isAble) return undefined;
  if (others.length === 0) return 'there is no other candidate';
  return `no other candidate can lead; ${listed(others.map(({ candidate, state }) => `${candidate.name} is ${state}`))}`;
}

/** Returns why priorities have no effect in this cluster; undefined if no cause is known. */
export function obstacleAbove(lock: LockHolder): string | undefined {
  if (lock.kind === 'none') return 'no coordinator is running; doctor says more';
  if (lock.kind === 'builtIn')
    return 'the lock is held by the built-in coordinator, which does not know priorities';
  return undefined;
}

function obstacleIn(outlook: Outcome): string | undefined {
  if (outlook.kind === 'conflict')
    return `the candidates disagree on the strategy, ${listed(outlook.strategies)}`;
  if (outlook.kind === 'thirdParty')
    return `another controller decides under the strategy ${outlook.strategy}`;
  return undefined;
}
