import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/support/json.ts';
import { definitionOf, linesOf, makeObject, versionOf } from './make.ts';

const leases = definitionOf('leases');
const v1 = versionOf(leases, 'v1');
const makeLease = (spec: JsonObject) =>
  makeObject('coordination.k8s.io/v1', 'Lease', { spec }, { namespace: 'n', resourceVersion: '1' });

test('a Lease may be created by PUT, and is only ever replaced from a known state', () => {
  expect(leases).toMatchObject({ createsOnUpdate: true, updatesUnconditionally: false, isNamespaced: true });
});

test('a Lease is a name that fits into DNS', () => {
  expect(leases.nameProblems('a.b-c')).toEqual([]);
  expect(leases.nameProblems('A_b')).toHaveLength(1);
});

describe('the spec of a Lease', () => {
  const unsupported = 'Unsupported value: "x<y": supported values: "OldestEmulationVersion"';
  test.each<[string, JsonObject, readonly string[]]>([
    ['may be empty', {}, []],
    [
      'may be whole',
      {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        leaseTransitions: 0,
        strategy: 'OldestEmulationVersion',
        preferredHolder: 'y',
      },
      [],
    ],
    ['may have a strategy of somebody else', { strategy: 'example.com/theirs', preferredHolder: 'y' }, []],
    ['may prefer nobody without a strategy', { preferredHolder: '' }, []],
    [
      'has a duration above 0',
      { leaseDurationSeconds: 0 },
      ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    ],
    [
      'has no fewer transitions than 0',
      { leaseTransitions: -1 },
      ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'has a strategy that is known or has a domain',
      { strategy: 'x<y' },
      [`spec.strategy.strategy: ${unsupported}`],
    ],
    [
      'has a strategy that is a qualified name',
      { strategy: '/y<' },
      [
        "spec.strategy.strategy: Invalid value: \"/y<\": before the slash: must consist of lower case letters, digits, '-' and '.', each part starting and ending with a letter or digit",
        "spec.strategy.strategy: Invalid value: \"/y<\": must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit",
      ],
    ],
    [
      'prefers somebody only with a strategy',
      { preferredHolder: 'y' },
      ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
    ],
    [
      'is told of everything at once',
      { leaseDurationSeconds: -1, leaseTransitions: -2, strategy: '', preferredHolder: 'y' },
      [
        'spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0',
        'spec.leaseTransitions: Invalid value: -2: must be greater than or equal to 0',
        'spec.strategy.strategy: Unsupported value: "": supported values: "OldestEmulationVersion"',
        'spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined',
      ],
    ],
  ])('%s', (_, spec, want) => {
    expect(linesOf(leases.validate(makeLease(spec)))).toEqual(want);
    expect(linesOf(leases.validate(makeLease(spec), makeLease({})))).toEqual(want);
  });
});

describe('where no LeaseCandidates are served', () => {
  const plain = definitionOf('leases', 'coordination.k8s.io', []);
  const coordinated = { holderIdentity: 'h', strategy: 'x/y', preferredHolder: 'p' };

  test('a new Lease loses what coordinates it', () => {
    expect(plain.prepareForCreate(makeLease(coordinated))['spec']).toEqual({ holderIdentity: 'h' });
    expect(leases.prepareForCreate(makeLease(coordinated))['spec']).toEqual(coordinated);
  });

  test.each([
    ['none of it', { holderIdentity: 'h' }, { holderIdentity: 'h' }],
    ['the strategy', { strategy: '' }, { holderIdentity: 'h', strategy: 'x/y' }],
    ['both', { strategy: 'a/b', preferredHolder: '' }, coordinated],
  ])('an update keeps what was in use before: %s', (_, old, want) => {
    const updated = plain.prepareForUpdate(makeLease(coordinated), makeLease(old));
    expect(updated['spec']).toEqual(want);
    expect(leases.prepareForUpdate(makeLease(coordinated), makeLease(old))['spec']).toEqual(coordinated);
  });
});

test('a Lease is stored as it is, but without what the server does not keep', () => {
  const given = {
    ...makeLease({ holderIdentity: 'h' }),
    metadata: { name: 'x', selfLink: '/x', labels: {} },
  };
  const hub = v1.toHub(given);
  expect(JSON.stringify(hub)).toBe(
    '{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x"},"spec":{"holderIdentity":"h"}}',
  );
  expect(v1.fromHub(hub)).toBe(hub);
});

test('a Lease can be selected by its name and namespace', () => {
  const lease = { ...makeLease({}), metadata: { name: 'x', namespace: 'n' } };
  expect(v1.selectableFields(lease)).toEqual({ 'metadata.name': 'x', 'metadata.namespace': 'n' });
});

test('a Lease is printed with its holder and its age', () => {
  const lease = {
    ...makeLease({ holderIdentity: 'h' }),
    metadata: { name: 'x', creationTimestamp: '2024-01-01T00:00:00Z' },
  };
  const now = Date.UTC(2024, 0, 1, 1) / 1000;
  expect(v1.columns.map(({ name, cell }) => [name, cell(lease, now)])).toEqual([
    ['Holder', 'h'],
    ['Age', '60m'],
  ]);
  expect(v1.columns.map(({ cell }) => cell(makeLease({}), now))).toEqual(['', '<unknown>']);
});
