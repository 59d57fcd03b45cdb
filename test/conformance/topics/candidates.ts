import { expect } from 'vitest';
import {
  alreadyExists,
  anUid,
  aRevision,
  aTime,
  badRequest,
  type Cause,
  conflict,
  deletedStatus,
  expectAnswer,
  invalid,
  invalidObject,
  leaseCandidateKind,
  leaseCandidates,
  notFound,
  notSupported,
  required,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { expectGone } from '../workspace.ts';

/** The deprecation warning of a version of LeaseCandidate, which comes with every answer. */
export function deprecations(minor: number, version: string): readonly string[] {
  if (minor < 36) return [];
  const ages: Readonly<Record<string, string>> = {
    v1beta1: 'deprecated in v1.36+, unavailable in v1.39+',
    v1alpha2: 'deprecated in v1.35+, unavailable in v1.38+',
  };
  const age = ages[version];
  return age === undefined ? [] : [`coordination.k8s.io/${version} LeaseCandidate is ${age}`];
}

/** A candidate's strategy in a version of the API. */
export function strategyField(version: string, strategy: string): object {
  return version === 'v1alpha1' ? { preferredStrategies: [strategy] } : { strategy };
}

export function describeCandidates(suite: Suite): void {
  for (const version of suite.candidateVersions) describeVersion(suite, version);
}

function describeVersion({ test: testIn, minor }: Suite, version: string): void {
  const test: Suite['test'] = (name, body) =>
    testIn(`in ${version} ${name}`, (workspace) =>
      body({ ...workspace, candidates: workspace.candidatesIn(version) }),
    );
  const isPlural = version === 'v1alpha1';
  const apiVersion = `coordination.k8s.io/${version}`;
  const strategy = strategyField(version, 'OldestEmulationVersion');
  const strategyName = isPlural ? 'preferredStrategies' : 'strategy';
  const spec = { leaseName: 'l', binaryVersion: '1.36.0', emulationVersion: '1.36.0', ...strategy };
  const candidate = (more: object = {}) => ({ metadata: { name: 'a' }, spec: { ...spec, ...more } });

  test('returns the object', async ({ namespace, candidates }) => {
    const full = {
      ...spec,
      pingTime: '2026-01-01T00:00:00.000001Z',
      renewTime: '2026-01-01T00:00:00.000002Z',
    };
    const answer = await candidates.create({ metadata: { name: 'a' }, spec: full });
    const fields = Object.fromEntries(Object.keys(full).map((field) => [`f:${field}`, {}]));
    const body = {
      kind: 'LeaseCandidate',
      apiVersion,
      metadata: {
        name: 'a',
        namespace,
        uid: anUid,
        resourceVersion: aRevision,
        creationTimestamp: aTime,
        managedFields: [updated('conformance', { 'f:spec': fields }, apiVersion)],
      },
      spec: full,
    };
    expectAnswer(answer, 201, body);
    expect(answer.warnings).toEqual(deprecations(minor, version));
    expectAnswer(await candidates.get('a'), 200, body);
    expectAnswer(await candidates.create(candidate()), 409, alreadyExists(leaseCandidates, 'a'));
    const { json } = await candidates.list();
    const { kind: _k, apiVersion: _a, ...item } = body;
    expect(json).toEqual({
      kind: 'LeaseCandidateList',
      apiVersion,
      metadata: { resourceVersion: aRevision },
      items: [item],
    });
  });

  test('has a deprecation warning with every answer', async ({ candidates }) => {
    for (const answer of [await candidates.list(), await candidates.get('a'), await candidates.delete('a')]) {
      expect(answer.warnings).toEqual(deprecations(minor, version));
    }
  });

  // v1alpha1 requires a binary version only for the strategy that compares versions.
  const binaryRequired = required('spec.binaryVersion');
  const emulationRequired = required('spec.emulationVersion');
  const semver = (field: string) => invalid(`spec.${field}`);
  const tooOld = invalid('spec.binaryVersion');
  const alsoRequired = isPlural ? [binaryRequired] : [];
  const strategyPath = isPlural ? 'spec.preferredStrategies[0].strategy' : 'spec.strategy.strategy';
  const wrong: readonly (readonly [string, object, readonly Cause[]])[] = [
    ['no lease', { leaseName: '' }, [required('spec.leaseName')]],
    ['no binary version', { binaryVersion: '' }, [binaryRequired]],
    ['no emulation version', { emulationVersion: '' }, [emulationRequired]],
    [
      'a binary version of two numbers',
      { binaryVersion: '1.36' },
      [semver('binaryVersion'), tooOld, ...alsoRequired],
    ],
    [
      'a binary version with a letter in front',
      { binaryVersion: 'v1.36.0' },
      [semver('binaryVersion'), tooOld, ...alsoRequired],
    ],
    [
      'an emulation version of two numbers',
      { emulationVersion: '1.36' },
      [semver('emulationVersion'), emulationRequired],
    ],
    [
      'two versions that are none',
      { binaryVersion: '1.36', emulationVersion: '1.37' },
      [semver('emulationVersion'), semver('binaryVersion'), ...alsoRequired, emulationRequired],
    ],
    ['an emulation version above the binary version', { emulationVersion: '1.37.0' }, [tooOld]],
    [
      'an emulation version that is released later',
      { binaryVersion: '1.36.0-alpha.0', emulationVersion: '1.36.0-alpha.1' },
      [tooOld],
    ],
    ['a strategy that nobody knows', strategyField(version, 'Other'), [notSupported(strategyPath)]],
    ['a strategy that is no name', strategyField(version, 'a/b/c'), [invalid(strategyPath)]],
    ...(isPlural
      ? []
      : ([
          ['no strategy', { strategy: '' }, [required('spec.strategy')]],
          [
            'nothing',
            {
              leaseName: undefined,
              binaryVersion: undefined,
              emulationVersion: undefined,
              strategy: undefined,
            },
            [required('spec.leaseName'), required('spec.binaryVersion'), required('spec.strategy')],
          ],
        ] as const)),
  ];
  for (const [what, more, causes] of wrong) {
    test(`refuses ${what}`, async ({ candidates }) => {
      const answer = await candidates.create(candidate(more));
      expectAnswer(answer, 422, invalidObject(leaseCandidateKind, 'a', causes));
      expect(answer.warnings).toEqual(deprecations(minor, version));
    });
  }

  const fine: readonly (readonly [string, object])[] = [
    ['a lease name that is none', { leaseName: 'Bad_Name' }],
    [
      'no emulation version for a strategy of others',
      { emulationVersion: undefined, ...strategyField(version, 'example.com/x') },
    ],
    ['versions with more than numbers', { binaryVersion: '1.36.0+build', emulationVersion: '1.36.0-rc.1' }],
    ...(isPlural
      ? ([
          ['no strategy', { preferredStrategies: undefined }],
          [
            'the same strategy twice',
            { preferredStrategies: ['OldestEmulationVersion', 'OldestEmulationVersion'] },
          ],
          ['several strategies', { preferredStrategies: ['example.com/b', 'OldestEmulationVersion'] }],
        ] as const)
      : []),
  ];
  for (const [what, more] of fine) {
    test(`accepts ${what}`, async ({ candidates }) => {
      const made = await candidates.make(candidate(more));
      const given = Object.fromEntries(
        Object.entries({ ...spec, ...more }).filter(([, value]) => value !== undefined),
      );
      expect(made.spec).toEqual(given);
    });
  }

  test('refuses wrong types', async ({ candidates }) => {
    expectAnswer(await candidates.create(candidate({ [strategyName]: 5 })), 400, badRequest());
    expectAnswer(
      await candidates.create({ ...candidate(), apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }),
      400,
      badRequest(),
    );
    expectAnswer(
      await candidates.create({
        ...candidate(),
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'LeaseCandidate',
      }),
      400,
      badRequest(),
    );
  });

  test('warns of unknown fields after the deprecation warning', async ({ candidates }) => {
    const answer = await candidates.create(candidate({ other: 1 }));
    expect(answer.warnings).toEqual([...deprecations(minor, version), 'unknown field "spec.other"']);
  });

  test('never changes its Lease', async ({ candidates }) => {
    const made = await candidates.make(candidate());
    const immutable = invalid('spec.leaseName');
    expectAnswer(
      await candidates.replace('a', { ...made, spec: { ...made.spec, leaseName: 'm' } }),
      422,
      invalidObject(leaseCandidateKind, 'a', [immutable]),
    );
    expectAnswer(
      await candidates.mergePatch('a', { spec: { leaseName: null } }),
      422,
      invalidObject(leaseCandidateKind, 'a', [required('spec.leaseName'), immutable]),
    );
  });

  test('is renewed and pinged', async ({ candidates }) => {
    const made = await candidates.make(candidate());
    const renewTime = '2026-01-01T00:00:00.000002Z';
    const renewed = await candidates.replace('a', { ...made, spec: { ...made.spec, renewTime } });
    expect({ code: renewed.code, spec: renewed.json.spec }).toEqual({
      code: 200,
      spec: { ...made.spec, renewTime },
    });
    expectAnswer(await candidates.replace('a', made), 409, conflict(leaseCandidates, 'a'));
    const pingTime = '2026-01-01T00:00:00.000003Z';
    const pinged = await candidates.mergePatch('a', { spec: { pingTime } });
    expect(pinged.json.spec).toEqual({ ...made.spec, renewTime, pingTime });
    const cleared = await candidates.strategicPatch('a', { spec: { pingTime: null } });
    expect(cleared.json.spec).toEqual({ ...made.spec, renewTime });
  });

  test('is created and updated by PUT', async ({ candidates }) => {
    expect((await candidates.replace('a', candidate())).code).toBe(201);
    expectAnswer(
      await candidates.replace('a', candidate()),
      422,
      invalidObject(leaseCandidates, 'a', [invalid('metadata.resourceVersion')]),
    );
  });

  test('is selected only by its name and namespace', async ({ candidates }) => {
    await candidates.make(candidate());
    await candidates.make({ ...candidate(), metadata: { name: 'b' } });
    const { json } = await candidates.list({ query: { fieldSelector: 'metadata.name=b' } });
    expect(json.items.map(({ metadata }) => metadata.name)).toEqual(['b']);
    expectAnswer(await candidates.list({ query: { fieldSelector: 'spec.leaseName=l' } }), 400, badRequest());
  });

  test('is deleted, alone and with others', async ({ candidates }) => {
    const made = await candidates.make(candidate());
    expectAnswer(await candidates.delete('a'), 200, deletedStatus(leaseCandidates, 'a', made.metadata.uid));
    await expectGone(candidates, 'a', notFound(leaseCandidates, 'a'));
    await candidates.make(candidate());
    const { json } = await candidates.deleteAll();
    expect(json['kind']).toBe('LeaseCandidateList');
    await expectGone(candidates, 'a', notFound(leaseCandidates, 'a'));
  });

  test('is watched', async ({ candidates }) => {
    const watch = await candidates.watch({ query: { resourceVersion: await candidates.revision() } });
    const made = await candidates.make(candidate());
    await candidates.delete('a');
    expect(await watch.next()).toEqual({ type: 'ADDED', object: made });
    expect((await watch.next()).type).toBe('DELETED');
    watch.close();
  });
}
