import { expect, onTestFinished } from 'vitest';
import { CUSTOM_API_VERSION, type LeaseCandidateVersion } from '../../src/coordination/candidate-sources.ts';
import { ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { candidatesPath } from '../control-plane/cluster-objects.ts';
import type { CandidateCase, Outcome } from './candidate-cases.ts';

/** An API server's result for a candidate, and its messages. */
export interface Judgement {
  readonly outcome: Outcome;
  readonly message: string;
}

/** The path of LeaseCandidates in one of the groups, and the form of its refusals. */
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

/** Checks how a server handles LeaseCandidates. */
export interface CandidateJudge {
  /** Creates a candidate, or does a dry run. */
  create(group: CandidateGroup, name: string, spec: object, query?: string): Promise<Judgement>;
  /** Expects the outcome of a case in both groups. */
  expectCase(each: CandidateCase): Promise<void>;
}

export const ownGroup: CandidateGroup = {
  apiVersion: CUSTOM_API_VERSION,
  path: ownCandidatesPath('default'),
  refusals: [422],
};

/** A spec that is valid in both groups. */
export const usualSpec = {
  leaseName: 'web',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
};

/** Checks candidates on a server that serves `nativeVersion` of coordination.k8s.io. */
export function candidateJudge(nativeVersion: LeaseCandidateVersion, ask: Ask): CandidateJudge {
  const apiVersion = `coordination.k8s.io/${nativeVersion}` as const;
  const nativeGroup: CandidateGroup = {
    apiVersion,
    path: candidatesPath({ apiVersion, namespace: 'default' }),
    // A field that cannot be decoded, such as an invalid time, is a bad request.
    refusals: [400, 422],
  };

  /** Creates a candidate, or does a dry run. */
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

  /** Returns the outcome of a case in a group. `written` converts a spec to the group's form. */
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
