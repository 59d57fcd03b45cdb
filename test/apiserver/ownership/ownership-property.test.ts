import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { applyConfiguration } from '../../../src/apiserver/ownership/apply-configuration.ts';
import {
  difference,
  type FieldSet,
  fromFieldsV1,
  isEmptySet,
  pathsOf,
  pathText,
  union,
} from '../../../src/apiserver/ownership/field-set.ts';
import { withManagedFields } from '../../../src/apiserver/ownership/managers.ts';
import { recordUpdate } from '../../../src/apiserver/ownership/ownership.ts';
import {
  compareObjects,
  fieldSetOf,
  mergeObjects,
  removeFields,
  withNamedFields,
} from '../../../src/apiserver/ownership/typed-objects.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import { isJsonObject, type JsonObject } from '../../../src/support/json.ts';
import { leaseContents } from './arbitrary-objects.ts';
import { decoded, versionsOf, viewOf } from './story-teller.ts';

const LEASE = 'coordination.k8s.io/v1';
const { schema } = viewOf('Lease', LEASE);
const versions = versionsOf('Lease');

function leaseOf(contents: JsonObject): JsonObject {
  const metadata = isJsonObject(contents['metadata']) ? contents['metadata'] : {};
  return { apiVersion: LEASE, kind: 'Lease', ...contents, metadata: { name: 'x', ...metadata } };
}

const leases = leaseContents.map(leaseOf);
const decodedLeases = leases.map((each) => decoded('Lease', LEASE, each));
const managers = fc.constantFrom('one', 'two', 'three');
const writes = fc.array(
  fc.record({ manager: managers, isApply: fc.boolean(), force: fc.boolean(), lease: leases }),
  {
    maxLength: 6,
  },
);

/** Fields that may be owned although they are empty, and parents that disappear with their last field. */
const mayBeEmpty: readonly string[] = [
  '.metadata.labels',
  '.metadata.annotations',
  '.metadata.finalizers',
  '.metadata.ownerReferences',
  '.spec',
];

function change(manager: string) {
  return { manager, time: '2026-01-01T00:00:00Z' };
}

function apply(live: ApiObject | undefined, config: JsonObject, manager: string, force = true) {
  return applyConfiguration({ live, config, force, change: change(manager), versions });
}

/** The object after all accepted writes. */
function written(steps: readonly { manager: string; isApply: boolean; force: boolean; lease: JsonObject }[]) {
  let live: ApiObject | undefined;
  for (const { manager, isApply, force, lease } of steps) {
    try {
      live = isApply
        ? apply(live, lease, manager, force).object
        : recordUpdate({ live, next: decoded('Lease', LEASE, lease), change: change(manager), versions });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }
  return live;
}

function ownedBy(object: ApiObject | undefined, manager: string, operation: string): FieldSet {
  const entries = object?.metadata.managedFields ?? [];
  const found = entries.find((entry) => entry.manager === manager && entry.operation === operation);
  return fromFieldsV1(found?.fieldsV1 ?? {});
}

function textsOf(set: FieldSet): readonly string[] {
  return pathsOf(set).map(pathText).sort();
}

/** All fields of an object, including parents of other fields. */
function fieldsOf(object: ApiObject): FieldSet {
  return withNamedFields(schema, fieldSetOf(schema, object));
}

describe('ownership', () => {
  test('never includes missing fields', () => {
    fc.assert(
      fc.property(writes, (steps) => {
        const live = written(steps);
        if (live === undefined) return;
        for (const { fieldsV1 } of live.metadata.managedFields ?? []) {
          const missing = textsOf(difference(fromFieldsV1(fieldsV1 ?? {}), fieldsOf(live)));
          expect(missing.filter((path) => !mayBeEmpty.includes(path))).toEqual([]);
        }
      }),
    );
  });

  test('of applied fields belongs to the applier, with its values', () => {
    fc.assert(
      fc.property(writes, leases, (steps, config) => {
        const { object } = apply(written(steps), config, 'applier');
        const wanted = fieldSetOf(schema, config);
        const owned = ownedBy(object, 'applier', 'Apply');
        expect(isEmptySet(difference(owned, wanted))).toBe(true);
        const { added, modified } = compareObjects(schema, object, decoded('Lease', LEASE, config));
        expect([textsOf(added), textsOf(modified)]).toEqual([[], []]);
      }),
    );
  });

  test('does not change when the same configuration is applied again', () => {
    fc.assert(
      fc.property(writes, leases, (steps, config) => {
        const { object } = apply(written(steps), config, 'applier');
        const again = apply(object, config, 'applier', false);
        expect(again.hasChanged).toBe(false);
        expect(again.object).toBe(object);
      }),
    );
  });

  test('ends with the configuration: an empty one restores the object', () => {
    fc.assert(
      fc.property(decodedLeases, leases, (given, config) => {
        const live = recordUpdate({ live: undefined, next: given, change: change('maker'), versions });
        const { object } = apply(live, config, 'applier');
        const { object: left } = apply(object, leaseOf({}), 'applier');
        const before = withManagedFields(live, undefined);
        const { removed, added } = compareObjects(schema, before, withManagedFields(left, undefined));
        // The fields that the applier took by force are gone, and then empty parents; no other field is.
        const gone = textsOf(difference(removed, fieldSetOf(schema, config)));
        expect(gone.filter((path) => !mayBeEmpty.includes(path))).toEqual([]);
        expect(textsOf(added)).toEqual([]);
        expect(textsOf(ownedBy(left, 'applier', 'Apply'))).toEqual([]);
      }),
    );
  });

  test('of a created object includes everything in it', () => {
    fc.assert(
      fc.property(decodedLeases, (next) => {
        const created = recordUpdate({ live: undefined, next, change: change('maker'), versions });
        const unowned = difference(fieldSetOf(schema, next), ownedBy(created, 'maker', 'Update'));
        const always = [
          '.apiVersion',
          '.kind',
          '.metadata.name',
          ...(isEmpty(next['spec']) ? ['.spec'] : []),
        ];
        expect(textsOf(unowned)).toEqual(always.sort());
      }),
    );
  });

  test('moves to the last updater of a field', () => {
    fc.assert(
      fc.property(writes, decodedLeases, (steps, next) => {
        const live = written(steps);
        if (live?.metadata.managedFields === undefined) return;
        const { added, modified } = compareObjects(schema, withManagedFields(live, undefined), next);
        const changed = union(added, modified);
        const recorded = recordUpdate({ live, next, change: change('last'), versions });
        for (const { manager, fieldsV1 } of recorded.metadata.managedFields ?? []) {
          if (manager === 'last') continue;
          const owned = fromFieldsV1(fieldsV1 ?? {});
          expect(textsOf(difference(owned, difference(owned, changed)))).toEqual([]);
        }
      }),
    );
  });
});

describe('a comparison', () => {
  test('is symmetric', () => {
    fc.assert(
      fc.property(decodedLeases, decodedLeases, (one, other) => {
        const there = compareObjects(schema, one, other);
        const back = compareObjects(schema, other, one);
        expect(textsOf(there.added)).toEqual(textsOf(back.removed));
        expect(textsOf(there.removed)).toEqual(textsOf(back.added));
        expect(textsOf(there.modified)).toEqual(textsOf(back.modified));
      }),
    );
  });

  test('of an object with itself is empty', () => {
    fc.assert(
      fc.property(decodedLeases, (one) => {
        const { added, modified, removed } = compareObjects(schema, one, structuredClone(one));
        expect([added, modified, removed].every(isEmptySet)).toBe(true);
      }),
    );
  });
});

describe('a merge', () => {
  test('contains the whole configuration, and keeps everything in the object', () => {
    fc.assert(
      fc.property(decodedLeases, leases, (live, config) => {
        const merged = mergeObjects(schema, live, config);
        const inConfig = compareObjects(schema, merged, config);
        expect([textsOf(inConfig.added), textsOf(inConfig.modified)]).toEqual([[], []]);
        expect(textsOf(compareObjects(schema, live, merged).removed)).toEqual([]);
      }),
    );
  });

  test('has no duplicate item', () => {
    fc.assert(
      fc.property(decodedLeases, leases, (live, config) => {
        const { metadata } = mergeObjects(schema, live, config) as ApiObject;
        const uids = (metadata.ownerReferences ?? []).map(({ uid }) => uid);
        const { finalizers = [] } = metadata;
        expect(uids).toHaveLength(new Set(uids).size);
        expect(finalizers).toHaveLength(new Set(finalizers).size);
      }),
    );
  });

  test('can be undone by removing the added fields', () => {
    fc.assert(
      fc.property(decodedLeases, leases, (live, config) => {
        const merged = mergeObjects(schema, live, config);
        const { added } = compareObjects(schema, live, merged);
        const rest = decoded('Lease', LEASE, removeFields(schema, merged, added));
        const { added: left, removed } = compareObjects(schema, live, rest);
        expect([textsOf(left), textsOf(removed)]).toEqual([[], []]);
      }),
    );
  });
});

function isEmpty(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}
