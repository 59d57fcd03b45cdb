import { describe, expect, test } from 'vitest';
import { recordUpdate } from '../../../src/apiserver/ownership/ownership.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { decoded, versionsOf } from './story-teller.ts';

const LEASE = 'coordination.k8s.io/v1';
const change = { manager: 'maker', time: '2026-01-01T00:00:00Z' };
const fieldsV1 = { 'f:spec': { 'f:holderIdentity': {} } };
const sent = { manager: 'sent', operation: 'Update', apiVersion: LEASE, fieldsType: 'FieldsV1', fieldsV1 };

function lease(metadata: JsonObject, spec: JsonObject = { holderIdentity: 'a' }) {
  return decoded('Lease', LEASE, { metadata: { name: 'x', ...metadata }, spec });
}

function managersOf(next: ReturnType<typeof lease>): readonly (string | undefined)[] {
  return (next.metadata.managedFields ?? []).map(({ manager }) => manager);
}

describe('an update', () => {
  const versions = versionsOf('Lease');
  const live = recordUpdate({ live: undefined, next: lease({}), change, versions });

  test('by an unnamed client is by "unknown"', () => {
    const anonymous = { ...change, manager: '' };
    const next = recordUpdate({ live: undefined, next: lease({}), change: anonymous, versions });
    expect(managersOf(next)).toEqual(['unknown']);
  });

  test('of a subresource ignores the client’s managedFields, and has its own entry', () => {
    const next = lease({ managedFields: [sent] }, { holderIdentity: 'b' });
    const recorded = recordUpdate({ live, next, change: { ...change, subresource: 'status' }, versions });
    expect(recorded.metadata.managedFields).toEqual([
      { ...sent, manager: 'maker', time: change.time, subresource: 'status' },
    ]);
  });

  test('does not modify its input', () => {
    const next = lease({ managedFields: [sent] }, { holderIdentity: 'b' });
    const before = structuredClone({ live, next });
    recordUpdate({ live, next, change, versions });
    expect({ live, next }).toEqual(before);
  });

  test.each([
    { name: 'a version that is none', managedFields: [{ ...sent, apiVersion: 'a/b/c' }] },
    { name: 'an empty entry', managedFields: [{}] },
    { name: 'no entry', managedFields: [] },
  ])('with $name resets the ownership', ({ managedFields }) => {
    const recorded = recordUpdate({ live, next: lease({ managedFields }), change, versions });
    expect('managedFields' in recorded.metadata).toBe(false);
  });

  test('that duplicates an item in another manager’s version resets the ownership', () => {
    const candidate = (version: string, finalizers: readonly string[]) =>
      decoded('LeaseCandidate', `coordination.k8s.io/${version}`, { metadata: { name: 'x', finalizers } });
    const given = { change, versions: versionsOf('LeaseCandidate') };
    const created = recordUpdate({ ...given, live: undefined, next: candidate('v1alpha2', ['e/a']) });
    const next = candidate('v1beta1', ['e/a', 'e/a']);
    const shown = { ...created, apiVersion: 'coordination.k8s.io/v1beta1' };
    const recorded = recordUpdate({ ...given, live: shown, next });
    expect('managedFields' in recorded.metadata).toBe(false);
  });

  test('of fields that its resource resets does not change the ownership', () => {
    const namespace = (phase: string) =>
      decoded('Namespace', 'v1', { metadata: { name: 'x', labels: { a: '1' } }, status: { phase } });
    const given = { change, versions: { ...versionsOf('Namespace'), resetFields: ['status'] } };
    const created = recordUpdate({ ...given, live: undefined, next: namespace('Active') });
    expect(created.metadata.managedFields?.[0]?.fieldsV1).toEqual({
      'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
    });
    const other = { ...change, manager: 'other' };
    const next = recordUpdate({ ...given, change: other, live: created, next: namespace('Terminating') });
    expect(next.metadata.managedFields).toEqual(created.metadata.managedFields);
  });
});
