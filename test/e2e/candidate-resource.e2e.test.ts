import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import fc from 'fast-check';
import { compare } from 'semver';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { LeaseCandidateVersion } from '../../src/coordination/lease-candidate-version.ts';
import { type CandidateCase, candidateCases, type Outcome } from '../conformance/candidate-cases.ts';
import { apiRequest } from '../control-plane/api-request.ts';
import { installCandidateResource, ownCandidatesPath } from '../control-plane/candidate-resource.ts';
import { candidatesPath } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { kubernetesVersions, leaseCandidateVersions } from '../control-plane/kubernetes-versions.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const { spec: definition } = parse(
  await readFile(new URL('../../deploy/crd.yaml', import.meta.url), 'utf8'),
) as {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
};

/** What an API server made of a candidate, and everything that it said. */
interface Judgement {
  readonly outcome: Outcome;
  readonly message: string;
}

/** Where LeaseCandidates of one of the groups are, and how it refuses them. */
interface Group {
  readonly apiVersion: string;
  readonly path: string;
  readonly refusals: readonly number[];
}

const usual = {
  leaseName: 'web',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
};

describe.each(kubernetesVersions)('LeaseCandidates of both groups, on Kubernetes %s', (version) => {
  const nativeVersion = leaseCandidateVersions[version][0] as LeaseCandidateVersion;
  const apiVersion = `coordination.k8s.io/${nativeVersion}` as const;
  const native = {
    apiVersion,
    path: candidatesPath({ apiVersion, namespace: 'default' }),
    // What cannot be decoded, such as a time, is a bad request.
    refusals: [400, 422],
  };
  const ours = {
    apiVersion: 'coordinated-leader-election.dev/v1alpha1',
    path: ownCandidatesPath('default'),
    refusals: [422],
  };
  const agent = new Agent({ keepAlive: true });
  let plane: ControlPlane;
  let ca: string;
  let kubectl: Kubectl;

  beforeAll(async () => {
    plane = await startControlPlane({ version });
    ca = await readFile(plane.caFile, 'utf8');
    await installCandidateResource(plane);
    kubectl = await kubectlFor(plane.kubeconfig);
  });
  afterAll(async () => {
    agent.destroy();
    await kubectl?.remove();
    await plane?.stop();
  });

  function ask(method: string, path: string, body?: unknown) {
    return apiRequest({ url: plane.url, token: plane.adminToken, ca, agent }, method, path, body);
  }

  /** Creates a candidate, or only asks what would become of it. */
  function create(group: Group, name: string, spec: object, query = '?dryRun=All'): Promise<Judgement> {
    const { apiVersion, path } = group;
    return judge(group, 'POST', `${path}${query}`, {
      apiVersion,
      kind: 'LeaseCandidate',
      metadata: { name },
      spec,
    });
  }

  async function judge({ refusals }: Group, method: string, path: string, body: unknown): Promise<Judgement> {
    const { status, text } = await ask(method, path, body);
    if (status === 200 || status === 201) return { outcome: 'taken', message: '' };
    expect(refusals, text).toContain(status);
    return { outcome: 'refused', message: (JSON.parse(text) as { message: string }).message };
  }

  /** What becomes of a case in a group whose candidates have what `written` makes of a spec. */
  async function outcomeOf(
    group: Group,
    { candidateName: name = 'a', spec, change }: CandidateCase,
    written: (spec: Readonly<Record<string, unknown>>) => object,
  ): Promise<Judgement> {
    const made = written({ ...usual, ...spec });
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

  test.for(candidateCases)('$name', async (each) => {
    const { wantNative, wantV1alpha1 = wantNative, wantOurs, wantMessage = '', difference } = each;
    const [theirs, own] = await Promise.all([
      outcomeOf(native, each, asNative),
      outcomeOf(ours, each, (spec) => spec),
    ]);
    expect(theirs.outcome, theirs.message).toBe(nativeVersion === 'v1alpha1' ? wantV1alpha1 : wantNative);
    expect(own.outcome, own.message).toBe(wantOurs);
    expect(own.message).toContain(wantMessage);
    expect(difference === undefined, 'what differs, and nothing else, says why').toBe(
      wantNative === wantOurs,
    );
  });

  test('a program emulates no version that comes after its own, as semver compares them', async () => {
    const identifier = fc.constantFrom(
      '0',
      '1',
      '2',
      '9',
      '10',
      '11',
      'a',
      'A',
      'a-',
      'a0',
      '0a',
      '-',
      '--1',
      'rc',
      'beta',
    );
    const number = fc.constantFrom(0, 1, 2, 9, 10, 11, 99, 100, 999_999_999_999_999);
    const dotted = fc.array(identifier, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
    const core = fc.tuple(number, number, number).map((parts) => parts.join('.'));
    const release = fc.tuple(fc.option(dotted), fc.option(dotted, { freq: 1 }));
    const written = (start: string, [before, build]: readonly [string | null, string | null]) =>
      `${start}${before === null ? '' : `-${before}`}${build === null ? '' : `+${build}`}`;
    // Half of the pairs have the same numbers: what follows those decides.
    const pair = fc
      .tuple(core, fc.option(core), release, release)
      .map(([first, second, one, other]) => [written(first, one), written(second ?? first, other)] as const);
    await fc.assert(
      fc.asyncProperty(pair, async ([binaryVersion, emulationVersion]) => {
        const spec = { ...usual, strategy: 'example.com/any', binaryVersion, emulationVersion };
        const { outcome } = await create(ours, 'a', spec);
        expect(outcome).toBe(compare(emulationVersion, binaryVersion) <= 0 ? 'taken' : 'refused');
      }),
      { numRuns: 400 },
    );
  });

  test('ours has what is left out by default, and nothing more', async () => {
    const spec = { leaseName: 'web', renewTime: null, holder: 'a' };
    const body = { apiVersion: ours.apiVersion, kind: 'LeaseCandidate', metadata: { name: 'a' }, spec };
    const { text } = await ask('POST', `${ours.path}?dryRun=All`, body);
    expect((JSON.parse(text) as { spec: unknown }).spec).toEqual({
      leaseName: 'web',
      binaryVersion: '0.0.0',
      strategy: 'OldestEmulationVersion',
    });
  });

  test('kubectl finds ours by short name, category and Lease, and shows what decides', async () => {
    for (const [name, leaseName, priority] of [
      ['web-0', 'web', 5],
      ['web-1', 'web', undefined],
      ['db-0', 'db', -1],
    ] as const) {
      const spec = { ...usual, leaseName, emulationVersion: '1.35.0', priority };
      expect(await create(ours, name, spec, '')).toMatchObject({ outcome: 'taken' });
    }
    const rowsOf = async (...args: readonly string[]) => {
      const { stdout, stderr } = await kubectl.run(['get', ...args]);
      expect(stderr).toBe('');
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/ +/).slice(0, -1).join(' '));
    };
    const heading = 'NAME LEASENAME BINARYVERSION EMULATIONVERSION PRIORITY';
    const db = 'db-0 db 1.36.0 1.35.0 -1';
    const web = ['web-0 web 1.36.0 1.35.0 5', 'web-1 web 1.36.0 1.35.0'];
    expect(await rowsOf('lcand')).toEqual([heading, db, ...web]);
    expect(await rowsOf('leader-election')).toEqual([heading, db, ...web]);
    expect(await rowsOf('lcand', '--field-selector', 'spec.leaseName=web')).toEqual([heading, ...web]);
  });

  test('kubectl explains every field of ours', async () => {
    const [served] = definition.versions;
    const fields = Object.keys(served?.schema.openAPIV3Schema.properties?.['spec']?.properties ?? {});
    expect(fields).toHaveLength(7);
    for (const field of ['', '.spec', ...fields.map((name) => `.spec.${name}`)]) {
      const { stdout, stderr } = await kubectl.run(['explain', `lcand${field}`]);
      expect(stderr).toBe('');
      const [, description = ''] = /DESCRIPTION:\n([\s\S]+?)\n\s*\n/.exec(stdout) ?? [];
      expect(description.trim().split(/\s+/).length, field).toBeGreaterThan(10);
    }
  });
});
