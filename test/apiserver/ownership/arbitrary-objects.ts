import fc from 'fast-check';
import type { JsonObject } from '../../../src/support/json.ts';

const few: { requiredKeys: []; noNullPrototype: true } = { requiredKeys: [], noNullPrototype: true };
const texts = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2'), {
  maxKeys: 3,
  noNullPrototype: true,
});
const finalizers = fc.uniqueArray(fc.constantFrom('e/a', 'e/b', 'e/c', 'e/d'), { maxLength: 4 });
const owners = fc.uniqueArray(
  fc.record(
    {
      apiVersion: fc.constant('v1'),
      kind: fc.constant('ConfigMap'),
      name: fc.constantFrom('one', 'two'),
      uid: fc.constantFrom('u1', 'u2', 'u3'),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 3, selector: ({ uid }) => uid },
);
const times = fc.constantFrom('2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z');

/**
 * A Lease with random values in every part that has its own merge rule. It has few values, so that they collide
 * often.
 */
export const leaseContents: fc.Arbitrary<JsonObject> = fc.record(
  {
    metadata: fc.record({ labels: texts, annotations: texts, finalizers, ownerReferences: owners }, few),
    spec: fc.record(
      {
        holderIdentity: fc.constantFrom('', 'x', 'y'),
        leaseDurationSeconds: fc.constantFrom(5, 10),
        leaseTransitions: fc.constantFrom(0, 1),
        renewTime: times,
      },
      few,
    ),
  },
  few,
);
