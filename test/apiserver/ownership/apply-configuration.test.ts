import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { applyConfiguration } from '../../../src/apiserver/ownership/apply-configuration.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { configurationOf, refusedConfigurations } from './refused-configurations.ts';
import { decoded, versionsOf } from './story-teller.ts';

const LEASE = 'coordination.k8s.io/v1';
const lease = { apiVersion: LEASE, kind: 'Lease', metadata: { name: 'x' } };

function apply(
  live: ApiObject | undefined,
  config: JsonObject,
  { manager = 'applier', second = 1, force = false } = {},
) {
  const change = { manager, time: `2026-01-01T00:00:0${second}Z` };
  return applyConfiguration({ live, config, force, change, versions: versionsOf(String(config['kind'])) });
}

function refusalOf(attempt: () => unknown): unknown {
  try {
    return attempt();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.status.code;
  }
}

/** stories.e2e.test.ts tries each of them on a real server, too. */
describe('a configuration is refused with', () => {
  test.each(refusedConfigurations)('$name', (each) => {
    expect(refusalOf(() => apply(undefined, configurationOf(each)))).toEqual(each.want);
  });
});

describe('an apply', () => {
  test('without a change returns the object unchanged', () => {
    const config = { ...lease, spec: { holderIdentity: 'a' } };
    const { object, hasChanged } = apply(undefined, config);
    expect(hasChanged).toBe(true);
    const again = apply(object, config, { second: 2 });
    expect(again).toEqual({ object, hasChanged: false });
    expect(again.object).toBe(object);
  });

  test('that only changes the format of a time changes nothing', () => {
    const { object } = apply(undefined, { ...lease, spec: { renewTime: '2026-01-01T00:00:00.000000Z' } });
    const config = { ...lease, spec: { renewTime: '2026-01-01T01:00:00.000000+01:00' } };
    expect(apply(object, config, { second: 2 })).toEqual({ object, hasChanged: false });
  });

  test('that only claims existing fields is a change', () => {
    const { object } = apply(undefined, { ...lease, spec: { holderIdentity: 'a' } });
    const { hasChanged } = apply(object, { ...lease, spec: { holderIdentity: 'a' } }, { manager: 'second' });
    expect(hasChanged).toBe(true);
  });

  test('does not modify its input', () => {
    const { object } = apply(undefined, { ...lease, spec: { holderIdentity: 'a', leaseDurationSeconds: 5 } });
    const config = { ...lease, metadata: { name: 'x', finalizers: ['e/a'] }, spec: { holderIdentity: 'b' } };
    const before = structuredClone({ object, config });
    apply(object, config);
    expect({ object, config }).toEqual(before);
  });

  test('of an object with a single version can be refused because of the version of an entry', () => {
    const fieldsV1 = { 'f:spec': { 'f:holderIdentity': {} } };
    const managedFields = [
      { manager: 'x', operation: 'Update', apiVersion: 'a/b/c', fieldsType: 'FieldsV1', fieldsV1 },
    ];
    const live = decoded('Lease', LEASE, { ...lease, metadata: { name: 'x', managedFields } });
    expect(refusalOf(() => apply(live, lease))).toBe(500);
  });

  test('is refused if items are duplicated and another manager uses another version', () => {
    const candidate = (version: string) => ({
      apiVersion: `coordination.k8s.io/${version}`,
      kind: 'LeaseCandidate',
      metadata: { name: 'x' },
    });
    const { object } = apply(undefined, { ...candidate('v1alpha2'), spec: { leaseName: 'x' } });
    const live = decoded('LeaseCandidate', 'coordination.k8s.io/v1beta1', {
      ...object,
      metadata: { ...object.metadata, finalizers: ['e/a', 'e/a'] },
    });
    expect(refusalOf(() => apply(live, candidate('v1beta1'), { manager: 'second' }))).toBe(500);
  });

  test('owns no fields that its resource resets', () => {
    const config = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x', labels: { a: '1' } },
      status: { phase: 'Active' },
    };
    const change = { manager: 'applier', time: '2026-01-01T00:00:01Z' };
    const versions = { ...versionsOf('Namespace'), resetFields: ['status'] };
    const { object } = applyConfiguration({ live: undefined, config, force: false, change, versions });
    expect(object.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([
      { 'f:metadata': { 'f:labels': { 'f:a': {} } } },
    ]);
  });
});
