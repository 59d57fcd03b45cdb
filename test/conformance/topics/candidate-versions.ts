import { expect } from 'vitest';
import { applied, applyConflict, badRequest, expectAnswer, updated } from '../expected.ts';
import type { Suite } from '../suite.ts';

const spec = {
  leaseName: 'l',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
};

/** The relations between several served versions of LeaseCandidate; no tests if only one is served. */
export function describeCandidateVersions({ test, candidateVersions }: Suite): void {
  const [newer, older] = candidateVersions.filter((version) => version !== 'v1alpha1');
  if (newer === undefined || older === undefined) {
    test('serves a single version', async ({ request }) => {
      const { json } = await request('GET', '/apis/coordination.k8s.io');
      expect(json['versions']).toHaveLength(1 + candidateVersions.length);
    });
    return;
  }
  const versionOf = (version: string) => `coordination.k8s.io/${version}`;

  test('shows one object in every version', async ({ candidatesIn }) => {
    const made = await candidatesIn(newer).make({ metadata: { name: 'a' }, spec });
    expectAnswer(await candidatesIn(older).get('a'), 200, { ...made, apiVersion: versionOf(older) });
    const listed = await candidatesIn(older).list();
    const { kind: _k, apiVersion: _a, ...item } = made;
    expect(listed.json).toMatchObject({ apiVersion: versionOf(older), items: [item] });
  });

  test('sends all versions to watchers', async ({ candidatesIn }) => {
    const query = { resourceVersion: await candidatesIn(newer).revision() };
    const [newest, oldest] = [
      await candidatesIn(newer).watch({ query }),
      await candidatesIn(older).watch({ query }),
    ];
    const made = await candidatesIn(older).make({ metadata: { name: 'a' }, spec });
    expect(await oldest.next()).toEqual({ type: 'ADDED', object: made });
    expect(await newest.next()).toEqual({
      type: 'ADDED',
      object: { ...made, apiVersion: versionOf(newer) },
    });
    newest.close();
    oldest.close();
  });

  test('refuses a body in another version', async ({ candidatesIn }) => {
    const body = { apiVersion: versionOf(newer), kind: 'LeaseCandidate', metadata: { name: 'a' }, spec };

    expectAnswer(await candidatesIn(older).create(body), 400, badRequest());
    expectAnswer(await candidatesIn(older).replace('a', body), 400, badRequest());
    expectAnswer(await candidatesIn(older).apply('a', 'm', body), 400, badRequest());
  });

  test('remembers in which version a field was set', async ({ candidatesIn }) => {
    await candidatesIn(newer).make({ metadata: { name: 'a' }, spec });
    const patch = { spec: { binaryVersion: '1.40.0' } };
    const { json } = await candidatesIn(older).mergePatch('a', patch, { query: { fieldManager: 'other' } });
    expect(json.metadata.managedFields).toEqual([
      updated(
        'conformance',
        { 'f:spec': { 'f:emulationVersion': {}, 'f:leaseName': {}, 'f:strategy': {} } },
        versionOf(newer),
      ),
      updated('other', { 'f:spec': { 'f:binaryVersion': {} } }, versionOf(older)),
    ]);
    expectAnswer(
      await candidatesIn(newer).apply('a', 'third', {
        metadata: { name: 'a' },
        spec: { binaryVersion: '1.41.0' },
      }),
      409,
      applyConflict(['.spec.binaryVersion']),
    );
  });

  test('lets a manager continue to apply in another version', async ({ candidatesIn }) => {
    await candidatesIn(older).apply('a', 'm', { metadata: { name: 'a', labels: { x: 'y' } }, spec });
    const { code, json } = await candidatesIn(newer).apply('a', 'm', { metadata: { name: 'a' }, spec });
    expect({ code, labels: json.metadata.labels }).toEqual({ code: 200, labels: undefined });
    const fields = Object.fromEntries(Object.keys(spec).map((field) => [`f:${field}`, {}]));
    expect(json.metadata.managedFields).toEqual([applied('m', { 'f:spec': fields }, versionOf(newer))]);
  });
}
