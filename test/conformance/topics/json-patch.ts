import { expect } from 'vitest';
import {
  badRequest,
  conflict,
  expectAnswer,
  invalid,
  invalidObject,
  leaseKind,
  leases as leaseResource,
  notFound,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { mediaTypes } from '../workspace.ts';

const object = {
  metadata: { name: 'a', labels: { x: 'y', 'a/b': 'c' }, finalizers: ['a/b', 'c/d'] },
  spec: { holderIdentity: 'h', leaseDurationSeconds: 10 },
};

export function describeJsonPatch({ test }: Suite): void {
  test('executes all operations in order', async ({ leases }) => {
    await leases.make(object);
    const { code, json } = await leases.jsonPatch('a', [
      { op: 'test', path: '/spec/holderIdentity', value: 'h' },
      { op: 'replace', path: '/spec/holderIdentity', value: 'z' },
      { op: 'add', path: '/spec/leaseTransitions', value: 1 },
      { op: 'remove', path: '/spec/leaseDurationSeconds' },
      { op: 'copy', from: '/spec/holderIdentity', path: '/metadata/labels/q' },
      { op: 'move', from: '/metadata/labels/x', path: '/metadata/labels/w' },
      { op: 'remove', path: '/metadata/labels/a~1b' },
      { op: 'add', path: '/metadata/finalizers/-', value: 'e/f' },
      { op: 'add', path: '/metadata/finalizers/0', value: '0/f' },
      { op: 'remove', path: '/metadata/finalizers/1' },
      { op: 'add', path: '/metadata/annotations', value: { 'a/b': '1' } },
      { op: 'replace', path: '/metadata/annotations/a~1b', value: '2' },
    ]);
    expect(code).toBe(200);
    expect(json).toMatchObject({
      metadata: {
        labels: { q: 'z', w: 'y' },
        finalizers: ['0/f', 'c/d', 'e/f'],
        annotations: { 'a/b': '2' },
      },
      spec: { holderIdentity: 'z', leaseTransitions: 1 },
    });
    expect(json.spec).toEqual({ holderIdentity: 'z', leaseTransitions: 1 });
    expect((await leases.get('a')).json).toEqual(json);
  });

  test('writes nothing without a change', async ({ leases }) => {
    const made = await leases.make(object);
    for (const patch of [[], [{ op: 'replace', path: '/spec/holderIdentity', value: 'h' }]]) {
      expectAnswer(await leases.jsonPatch('a', patch), 200, made);
    }
  });

  const notAPatch: readonly string[] = ['{', '{}', '[5]'];
  for (const rawBody of notAPatch) {
    test(`refuses the patch ${rawBody}`, async ({ leases, request }) => {
      await leases.make(object);
      const asked = { rawBody, contentType: mediaTypes.jsonPatch };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    });
  }

  test('warns of unknown members of an operation', async ({ leases }) => {
    await leases.make(object);
    const answer = await leases.jsonPatch('a', [
      { op: 'add', path: '/spec/holderIdentity', value: 'z', other: 1 },
    ]);
    expect({ code: answer.code, warnings: answer.warnings }).toEqual({
      code: 200,
      warnings: ['json patch unknown field "[0].other"'],
    });
  });

  test('warns of the unknown fields that it adds', async ({ leases }) => {
    const made = await leases.make(object);
    const answer = await leases.jsonPatch('a', [{ op: 'add', path: '/metadata/other', value: 'x' }]);
    expect(answer.warnings).toEqual(['unknown field "metadata.other"']);
    expectAnswer(answer, 200, made);
  });

  test('is an update like any other', async ({ leases }) => {
    await leases.make(object);
    const patched = (path: string, value: unknown) => leases.jsonPatch('a', [{ op: 'replace', path, value }]);
    expectAnswer(await patched('/metadata/resourceVersion', '1'), 409, conflict(leaseResource, 'a'));
    expectAnswer(await patched('/metadata/name', 'b'), 400, badRequest());
    expectAnswer(
      await patched('/spec/leaseDurationSeconds', -1),
      422,
      invalidObject(leaseKind, 'a', [invalid('spec.leaseDurationSeconds')]),
    );
    expectAnswer(await leases.jsonPatch('b', []), 404, notFound(leaseResource, 'b'));
  });
}
