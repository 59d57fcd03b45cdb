import { expect, onTestFinished } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import type { LeaseCandidateVersion } from '../../src/coordination/lease-candidate-version.ts';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { candidatesPath } from '../control-plane/cluster-objects.ts';
import type { CandidateCase, Outcome } from './candidate-cases.ts';

/** What an API server made of a candidate, and everything that it said. */
export interface Judgement {
  readonly outcome: Outcome;
  readonly message: string;
}

/** Where LeaseCandidates of one of the groups are, and how it refuses them. */
export interface CandidateGroup {
  readonly apiVersion: string;
  readonly path: string;
  readonly refusals: readonly number[];
}

type Ask = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly text: string }>;

/** Judges LeaseCandidates by what a server answers. */
export interface CandidateJudge {
  /** Creates a candidate, or only asks what would become of it. */
  create(group: CandidateGroup, name: string, spec: object, query?: string): Promise<Judgement>;
  /** Expects that both groups make of a case what it says. */
  expectCase(each: CandidateCase): Promise<void>;
}

export const ownGroup: CandidateGroup = {
  apiVersion: CUSTOM_API_VERSION,
  path: ownCandidatesPath('default'),
  refusals: [422],
};

/** A spec that nothing is wrong with, in either group. */
export const usualSpec = {
  leaseName: 'web',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
};

/** A judge of the candidates of a server that has those of coordination.k8s.io in `nativeVersion`. */
export function candidateJudge(nativeVersion: LeaseCandidateVersion, ask: Ask): CandidateJudge {
  const apiVersion = `coordination.k8s.io/${nativeVersion}` as const;
  const nativeGroup: CandidateGroup = {
    apiVersion,
    path: candidatesPath({ apiVersion, namespace: 'default' }),
    // What cannot be decoded, such as a time, is a bad request.
    refusals: [400, 422],
  };

  /** Creates a candidate, or only asks what would become of it. */
  function create(
    group: CandidateGroup,
    name: string,
    spec: object,
    query = '?dryRun=All',
  ): Promise<Judgement> {
    const { apiVersion, path } = group;
    return judge(group, 'POST', `${path}${query}`, {
      apiVersion,
      kind: 'LeaseCandidate',
      metadata: { name },
      spec,
    });
  }

  async function judge(
    { refusals }: CandidateGroup,
    method: string,
    path: string,
    body: unknown,
  ): Promise<Judgement> {
    const { status, text } = await ask(method, path, body);
    if (status === 200 || status === 201) return { outcome: 'taken', message: '' };
    expect(refusals, text).toContain(status);
    return { outcome: 'refused', message: (JSON.parse(text) as { message: string }).message };
  }

  /** What becomes of a case in a group whose candidates have what `written` makes of a spec. */
  async function outcomeOf(
    group: CandidateGroup,
    { candidateName: name = 'a', spec, change }: CandidateCase,
    written: (spec: Readonly<Record<string, unknown>>) => object,
  ): Promise<Judgement> {
    const made = written({ ...usualSpec, ...spec });
    if (change === undefined) return create(group, name, made);
    onTestFinished(async () => {
      await ask('DELETE', `${group.path}/${name}`);
    });
    expect(await create(group, name, made, '')).toMatchObject({ outcome: 'taken' });
    return judge(group, 'PATCH', `${group.path}/${name}?dryRun=All`, { spec: written(change) });
  }

  function asNative({ strategy, ...rest }: Readonly<Record<string, unknown>>): object {
    if (strategy === undefined) return rest;
    return {
      ...rest,
      ...(nativeVersion === 'v1alpha1' ? { preferredStrategies: [strategy] } : { strategy }),
    };
  }

  return {
    create,
    async expectCase(each) {
      const { wantNative, wantV1alpha1 = wantNative, wantOurs, wantMessage = '', difference } = each;
      const [theirs, own] = await Promise.all([
        outcomeOf(nativeGroup, each, asNative),
        outcomeOf(ownGroup, each, (spec) => spec),
      ]);
      expect(theirs.outcome, theirs.message).toBe(nativeVersion === 'v1alpha1' ? wantV1alpha1 : wantNative);
      expect(own.outcome, own.message).toBe(wantOurs);
      expect(own.message).toContain(wantMessage);
      expect(difference === undefined, 'what differs, and nothing else, says why').toBe(
        wantNative === wantOurs,
      );
    },
  };
}
