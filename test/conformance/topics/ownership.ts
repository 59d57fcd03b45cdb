import { expect } from 'vitest';
import { applied, updated } from '../expected.ts';
import type { Suite } from '../suite.ts';

export function describeOwnership({ test }: Suite): void {
  test('gives a field to whoever changed it last', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', labels: { x: '1' } }, spec: { holderIdentity: 'h' } });
    const { json } = await leases.mergePatch(
      'a',
      { metadata: { labels: { z: '2' } }, spec: { leaseTransitions: 1, holderIdentity: 'h' } },
      { query: { fieldManager: 'other' } },
    );
    expect(json.metadata.managedFields).toEqual([
      updated('conformance', {
        'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } },
        'f:spec': { 'f:holderIdentity': {} },
      }),
      updated('other', {
        'f:metadata': { 'f:labels': { 'f:z': {} } },
        'f:spec': { 'f:leaseTransitions': {} },
      }),
    ]);
  });

  test('takes from a manager what somebody else removed', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', labels: { x: '1' } }, spec: { holderIdentity: 'h' } });
    const { json } = await leases.mergePatch(
      'a',
      { metadata: { labels: { x: null, z: '2' } }, spec: { holderIdentity: null } },
      { query: { fieldManager: 'other' } },
    );
    expect(json.metadata.managedFields).toEqual([
      updated('conformance', { 'f:metadata': { 'f:labels': {} } }),
      updated('other', { 'f:metadata': { 'f:labels': { 'f:z': {} } } }),
    ]);
  });

  test('forgets a manager that owns nothing any more', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const { json } = await leases.mergePatch(
      'a',
      { spec: { holderIdentity: 'q' } },
      { query: { fieldManager: 'other' } },
    );
    expect(json.metadata.managedFields).toEqual([updated('other', { 'f:spec': { 'f:holderIdentity': {} } })]);
  });

  test('tells a manager that applies from one of that name that updates', async ({ leases }) => {
    await leases.apply('a', 'm', { metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const { json } = await leases.mergePatch(
      'a',
      { spec: { leaseTransitions: 1 } },
      { query: { fieldManager: 'm' } },
    );
    expect(json.metadata.managedFields).toEqual([
      applied('m', { 'f:spec': { 'f:holderIdentity': {} } }),
      updated('m', { 'f:spec': { 'f:leaseTransitions': {} } }),
    ]);
  });

  test('takes from an applier what an update changes, but not what it leaves as it is', async ({
    leases,
  }) => {
    await leases.apply('a', 'm', {
      metadata: { name: 'a' },
      spec: { holderIdentity: 'h', leaseTransitions: 1 },
    });
    const { json } = await leases.mergePatch('a', { spec: { holderIdentity: 'q', leaseTransitions: 1 } });
    expect(json.metadata.managedFields).toEqual([
      applied('m', { 'f:spec': { 'f:leaseTransitions': {} } }),
      updated('conformance', { 'f:spec': { 'f:holderIdentity': {} } }),
    ]);
  });

  test('keeps what a client leaves out, so that updates need not carry it', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const { managedFields: _, ...metadata } = made.metadata;
    const { json } = await leases.replace(
      'a',
      { ...made, metadata, spec: { holderIdentity: 'h', leaseTransitions: 1 } },
      { query: { fieldManager: 'other' } },
    );
    expect(json.metadata.managedFields).toEqual([
      updated('conformance', { 'f:spec': { 'f:holderIdentity': {} } }),
      updated('other', { 'f:spec': { 'f:leaseTransitions': {} } }),
    ]);
  });

  for (const managedFields of [[], [{}]]) {
    test(`is dropped with ${JSON.stringify(managedFields)}, until somebody applies`, async ({ leases }) => {
      const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
      const dropped = await leases.replace('a', { ...made, metadata: { ...made.metadata, managedFields } });
      expect(dropped.json.metadata.managedFields).toBeUndefined();
      const patched = await leases.mergePatch('a', { spec: { leaseTransitions: 1 } });
      expect(patched.json.metadata.managedFields).toBeUndefined();
      const after = await leases.apply('a', 'm', { metadata: { name: 'a', labels: { x: 'y' } } });
      expect(after.json.metadata.managedFields).toEqual([
        applied('m', { 'f:metadata': { 'f:labels': { 'f:x': {} } } }),
        updated('before-first-apply', { 'f:spec': { 'f:holderIdentity': {}, 'f:leaseTransitions': {} } }),
      ]);
    });
  }

  test('does not begin with an update of an object that nobody owned', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const patched = await leases.mergePatch('a', { spec: { leaseTransitions: 1 } });
    expect(patched.json.metadata.managedFields).toBeUndefined();
    await leases.apply('a', 'm', { metadata: { name: 'a', labels: { x: 'y' } } });
    const again = await leases.mergePatch('a', { spec: { leaseTransitions: 2 } });
    expect(again.json.metadata.managedFields).toEqual([
      applied('m', { 'f:metadata': { 'f:labels': { 'f:x': {} } } }),
      updated('conformance', { 'f:spec': { 'f:leaseTransitions': {} } }),
    ]);
  });

  test('changes no time while the fields of a manager stay the same', async ({ leases }) => {
    const old = {
      manager: 'conformance',
      operation: 'Update',
      apiVersion: 'coordination.k8s.io/v1',
      time: '2020-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:holderIdentity': {} } },
    };
    await leases.make({ metadata: { name: 'a', managedFields: [old] }, spec: { holderIdentity: 'h' } });
    const same = await leases.mergePatch('a', { spec: { holderIdentity: 'q' } });
    expect(same.json.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([old.fieldsV1]);
    const more = await leases.mergePatch('a', { spec: { leaseTransitions: 1 } });
    expect(more.json.metadata.managedFields?.[0]?.['time']).not.toBe(old.time);
  });
}
