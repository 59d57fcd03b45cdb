import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/support/json.ts';
import { definitionOf, makeObject } from './make.ts';

const leases = definitionOf('leases');
const makeLease = (spec: JsonObject) =>
  makeObject('coordination.k8s.io/v1', 'Lease', { spec }, { namespace: 'n', resourceVersion: '1' });

describe('without LeaseCandidates', () => {
  const plain = definitionOf('leases', 'coordination.k8s.io', []);
  const coordinated = { holderIdentity: 'h', strategy: 'x/y', preferredHolder: 'p' };

  test('a new Lease loses its coordination fields', () => {
    expect(plain.prepareForCreate(makeLease(coordinated))['spec']).toEqual({ holderIdentity: 'h' });
    expect(leases.prepareForCreate(makeLease(coordinated))['spec']).toEqual(coordinated);
  });

  test.each([
    ['none of it', { holderIdentity: 'h' }, { holderIdentity: 'h' }],
    ['the strategy', { strategy: '' }, { holderIdentity: 'h', strategy: 'x/y' }],
    ['both', { strategy: 'a/b', preferredHolder: '' }, coordinated],
  ])('an update keeps the used fields: %s', (_, old, want) => {
    const updated = plain.prepareForUpdate(makeLease(coordinated), makeLease(old));
    expect(updated['spec']).toEqual(want);
    expect(leases.prepareForUpdate(makeLease(coordinated), makeLease(old))['spec']).toEqual(coordinated);
  });
});
