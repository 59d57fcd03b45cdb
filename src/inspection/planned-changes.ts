import { parseInt32 } from '../coordination/candidate-priority.ts';
import { type LeaseCandidate, NO_PRIORITY, type Now, type StrategyPreference } from '../election/model.ts';
import { parseVersion, strategies } from '../election/strategies.ts';
import type { ElectionInput } from '../election/view.ts';
import type { PlanSettings } from '../settings/inspection-settings.ts';
import { SettingsError } from '../settings/settings-table.ts';
import { type Change, rehearse } from './rehearsal.ts';

const DEFAULT_PREFERENCE: StrategyPreference = { kind: 'strategy', strategy: 'OldestEmulationVersion' };

// The API server accepts only these characters in names of LeaseCandidates.
const CANDIDATE_NAME = /^[-._a-zA-Z0-9]+$/;
const PRIORITY = /^([^=]+)=([^=]*)$/s;
const ADDED = /^([^=]*)=([^/]*)(?:\/(.*))?$/s;

/**
 * Returns the planned changes in this order: candidates that appear or restart, then priorities, then removals. As in
 * most rolling updates, new programs start before old programs stop.
 * @throws {SettingsError} that lists all problems of the request.
 */
export function plannedChanges(
  request: Pick<PlanSettings, 'add' | 'remove' | 'priority'>,
  input: ElectionInput,
): readonly Change[] {
  const problems: string[] = [];
  const added = request.add.flatMap((text) => read(() => addedCandidate(text, input), problems));
  const names = [...input.candidates.map(({ candidate }) => candidate), ...added].map(({ name }) => name);
  const removed = [...new Set(request.remove)];
  const priorities = request.priority.flatMap((text) => read(() => givenPriority(text), problems));
  const named = [
    ...removed.map((name) => ({ flag: '--remove', name })),
    ...priorities.map(({ name }) => ({ flag: '--priority', name })),
  ];
  for (const { flag, name } of named)
    if (!names.includes(name))
      problems.push(`${flag}: ${name} is not a candidate of ${input.namespace}/${input.name}${known(names)}`);
  if (problems.length > 0) throw new SettingsError(problems);
  return [
    ...added.map((candidate): Change => ({ kind: 'add', candidate })),
    ...priorities.map(({ name, priority }): Change => ({ kind: 'priority', name, priority })),
    ...removed.map((name): Change => ({ kind: 'remove', name })),
  ];
}

/**
 * Parses the value of `--rollout`, `name=binary/emulation`. The rolling update replaces the candidate with that name,
 * and all candidates whose names start with that name and a dash.
 * @throws {SettingsError} if `text` is invalid or matches no candidate.
 */
export function plannedRollout(text: string, { namespace, name: lease, candidates }: ElectionInput) {
  const problem = problemWith('--rollout', text, 'scheduler=1.37.0/1.36.0');
  const { name, binaryVersion, emulationVersion } = nameAndVersions(text, problem);
  const present = candidates.map(({ candidate }) => candidate.name).sort();
  const names = present.filter((one) => one === name || one.startsWith(`${name}-`));
  if (names.length === 0) throw problem(`matches no candidate of ${namespace}/${lease}${known(present)}`);
  return { names, binaryVersion, emulationVersion };
}

/** A rolling update. Replaces the candidates in `names`, one at a time, by candidates with the new versions. */
export type Rollout = ReturnType<typeof plannedRollout>;

export type RolloutForecast = ReturnType<typeof forecastRollout>[number];

/**
 * Simulates a rolling update with each registered strategy, as if all candidates asked for this strategy. Returns the
 * minimum and the maximum number of leader changes.
 */
export function forecastRollout(input: ElectionInput, now: Now, rollout: Rollout) {
  return [...strategies.keys()].map((strategy) => {
    const preference: StrategyPreference = { kind: 'strategy', strategy };
    const candidates = input.candidates.map(({ candidate, observation }) => ({
      candidate: { ...candidate, preference },
      observation,
    }));
    const asking = { ...input, candidates };
    const last = rehearse(asking, now, changesOf(asking, rollout, 'last'));
    const next = rehearse(asking, now, changesOf(asking, rollout, 'next'));
    return {
      strategy,
      // `fewestHandOvers`: of the candidates in `rollout.names`, the leader is replaced last.
      // `mostHandOvers`: the leader is replaced first, and so is each later leader from `rollout.names`.
      fewestHandOvers: last.handOvers,
      mostHandOvers: next.handOvers,
      leader: next.holder,
      isSettled: last.isSettled && next.isSettled,
    };
  });
}

function known(names: readonly string[]): string {
  return names.length === 0 ? ', which has none' : `; there are ${[...new Set(names)].sort().join(', ')}`;
}

function read<T>(parse: () => T, problems: string[]): T[] {
  try {
    return [parse()];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    problems.push(...error.problems);
    return [];
  }
}

function givenPriority(text: string): { readonly name: string; readonly priority: number } {
  const [, name = '', value = ''] = PRIORITY.exec(text) ?? [];
  const priority = parseInt32(value);
  if (priority !== undefined) return { name, priority };
  throw problemWith('--priority', text, 'scheduler-c=100')('lacks a whole number of 32 bits');
}

function problemWith(flag: string, text: string, example: string) {
  return (what: string) => new SettingsError([`${flag}: "${text}" ${what}; give e.g. ${example}`]);
}

/** Parses `name=binaryVersion/emulationVersion`. The default emulation version is the binary version. */
function nameAndVersions(text: string, problem: ReturnType<typeof problemWith>) {
  const [, name = '', binaryVersion = '', emulationVersion = binaryVersion] = ADDED.exec(text) ?? ['', text];
  const [binary, emulation] = [parseVersion(binaryVersion), parseVersion(emulationVersion)];
  if (!CANDIDATE_NAME.test(name)) throw problem('does not begin with the name of a candidate');
  if (!binary || !emulation) throw problem('does not have two semantic versions');
  if (emulation.compare(binary) > 0) throw problem('emulates a version newer than its binary');
  return { name, binaryVersion, emulationVersion };
}

function addedCandidate(text: string, input: ElectionInput): LeaseCandidate {
  const problem = problemWith('--add', text, 'scheduler-c=1.36.0/1.35.0');
  const { name, binaryVersion, emulationVersion } = nameAndVersions(text, problem);
  const present = input.candidates.map(({ candidate }) => candidate);
  // A candidate that restarts keeps the strategy that it asked for. A new candidate asks for the same strategy as the
  // first of the present candidates.
  const former = present.find((candidate) => candidate.name === name);
  const alike = former ?? present[0];
  return {
    source: alike?.source ?? 'native',
    namespace: input.namespace,
    name,
    uid: `planned-${name}`,
    resourceVersion: '',
    creationTimestamp: undefined,
    isDeleting: false,
    leaseName: input.name,
    binaryVersion,
    emulationVersion,
    preference: alike?.preference ?? DEFAULT_PREFERENCE,
    priority: former?.priority ?? NO_PRIORITY,
    renewTime: undefined,
    pingTime: undefined,
  };
}

function changesOf(
  { candidates }: ElectionInput,
  { names, binaryVersion, emulationVersion }: Rollout,
  leaderIs: 'last' | 'next',
): readonly Change[] {
  const replaced = candidates.filter(({ candidate }) => names.includes(candidate.name));
  return replaced.map(({ candidate }) => {
    const name = `${candidate.name}-new`;
    const successor = { ...candidate, name, uid: `planned-${name}`, binaryVersion, emulationVersion };
    return { kind: 'replace', names, leaderIs, successor };
  });
}
