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
  const { object, duplicates } = withoutDuplicateOwners(owned([one, two, again]));
  expect(object.metadata.ownerReferences).toEqual([one, two]);
  expect(duplicates).toEqual(['u1']);
});

test('fifty thousand owners are looked through in one pass', () => {
  const references = Array.from({ length: 50_000 }, (_, index) => {
    const reference = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: `u${index}` };
    let reads = 0;
    return new Proxy(reference, {
      ownKeys(target) {
        reads += 1;
        expect(reads).toBe(1);
        return Reflect.ownKeys(target);
      },
    });
  });
  expect(withoutDuplicateOwners(owned(references)).duplicates).toEqual([]);
});
