import { expect, test } from 'vitest';
import { withoutDuplicateOwners } from '../../../src/apiserver/operations/write.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';

function owned(ownerReferences: readonly object[]): ApiObject {
  const metadata = { name: 'a', ownerReferences };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata } as unknown as ApiObject;
}

test('an owner that is named twice in the same words is kept once', () => {
  const one = { apiVersion: 'v1', kind: 'Pod', name: 'one', uid: 'u1' };
  const two = { apiVersion: 'v1', kind: 'Pod', name: 'one', uid: 'u1', controller: true };
  const again = { uid: 'u1', name: 'one', kind: 'Pod', apiVersion: 'v1' };
  const warnings: string[] = [];
  const object = withoutDuplicateOwners(owned([one, two, again]), { warn: (text) => warnings.push(text) });
  expect(object.metadata.ownerReferences).toEqual([one, two]);
  expect(warnings).toEqual([expect.stringContaining(': u1')]);
});
