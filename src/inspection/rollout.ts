import type { ElectionInput } from '../election/election-input.ts';
import type { LeaseCandidate } from '../election/model.ts';
import { strategies } from '../election/strategies.ts';
import type { Now } from '../election/time.ts';
import type { Change } from './change.ts';
import { rehearse } from './rehearsal.ts';

/** A rolling update: each of these candidates is replaced by one of this version, one after the other. */
export interface Rollout {
  readonly names: readonly string[];
  readonly binaryVersion: string;
  readonly emulationVersion: string;
}

/** What a rolling update costs under one strategy. */
export interface RolloutForecast {
  readonly strategy: string;
  /** How often the leader changes: where the leader is always replaced last, and where it is always next. */
  readonly fewestHandOvers: number;
  readonly mostHandOvers: number;
  /** Who leads in the end, in the second case; '' for nobody. */
  readonly leader: string;
  /** False where it was still going on when it was broken off. */
  readonly isSettled: boolean;
}

/** Plays a rolling update through under each strategy that is carried out here, as if all candidates asked for it. */
export function forecastRollout(
  input: ElectionInput,
  now: Now,
  rollout: Rollout,
): readonly RolloutForecast[] {
  return [...strategies.keys()].map((strategy) => {
    const asking: ElectionInput = {
      ...input,
      candidates: input.candidates.map(({ candidate, observation }) => ({
        candidate: { ...candidate, preference: { kind: 'strategy', strategy } },
        observation,
      })),
    };
    const [last, next] = (['last', 'next'] as const).map((leaderIs) =>
      rehearse(asking, now, changesOf(asking, rollout, leaderIs)),
    );
    return {
      strategy,
      fewestHandOvers: last?.handOvers ?? 0,
      mostHandOvers: next?.handOvers ?? 0,
      leader: next?.holder ?? '',
      isSettled: Boolean(last?.isSettled && next?.isSettled),
    };
  });
}

function changesOf(
  { candidates }: ElectionInput,
  { names, binaryVersion, emulationVersion }: Rollout,
  leaderIs: 'last' | 'next',
): readonly Change[] {
  const replaced = candidates.filter(({ candidate }) => names.includes(candidate.name));
  const successors = replaced.map(
    ({ candidate }): LeaseCandidate => ({
      ...candidate,
      name: `${candidate.name}-new`,
      uid: `planned-${candidate.name}-new`,
      binaryVersion,
      emulationVersion,
    }),
  );
  return successors.map((successor): Change => ({ kind: 'replace', names, leaderIs, successor }));
}
