import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/support/json.ts';
import { definitionOf, linesOf, makeObject, versionOf } from './make.ts';

const GROUP = 'coordination.k8s.io';
const candidates = definitionOf('leasecandidates');
const v1beta1 = versionOf(candidates, 'v1beta1');
const v1alpha2 = versionOf(candidates, 'v1alpha2');
const v1alpha1 = versionOf(candidates, 'v1alpha1');

const make = (version: string, spec: JsonObject) =>
  makeObject(`${GROUP}/${version}`, 'LeaseCandidate', { spec }, { namespace: 'n', resourceVersion: '1' });

const OLDEST = 'OldestEmulationVersion';
const good = { leaseName: 'l', binaryVersion: '1.2.3', emulationVersion: '1.2.0', strategy: OLDEST };
const listed = {
  leaseName: 'l',
  binaryVersion: '1.2.3',
  emulationVersion: '1.2.0',
  preferredStrategies: [OLDEST],
};

const MALFORMED = 'must be a valid semantic version';
const TOO_LOW = 'must be greater than or equal to `emulationVersion`';
const NEEDED = `Required value: must be specified when \`strategy\` is '${OLDEST}'`;

test('a LeaseCandidate may be created by PUT, and is only ever replaced from a known state', () => {
  expect(candidates).toMatchObject({
    createsOnUpdate: true,
    updatesUnconditionally: false,
    isNamespaced: true,
  });
});

test('a LeaseCandidate may have a name that is no name in DNS', () => {
  expect(candidates.nameProblems('A_b.-')).toEqual([]);
  expect(candidates.nameProblems('a/b')).toHaveLength(1);
});

describe('a LeaseCandidate of v1beta1', () => {
  const check = (spec: JsonObject) => linesOf(candidates.validate(v1beta1.toHub(make('v1beta1', spec))));

  test.each<[string, JsonObject, readonly string[]]>([
    ['is good', good, []],
    ['may have a name for its Lease that no Lease can have', { ...good, leaseName: 'A b/é' }, []],
    [
      'may emulate no version under a strategy of somebody else',
      { ...good, emulationVersion: '', strategy: 'a/b' },
      [],
    ],
    [
      'may have versions with all parts',
      { ...good, binaryVersion: '1.2.3--+01.-', emulationVersion: '1.2.2-0a' },
      [],
    ],
    ['may emulate what it is', { ...good, emulationVersion: '1.2.3+other' }, []],
    ['may emulate a version before 0.0.0', { ...good, emulationVersion: '0.0.0-a' }, []],
    [
      'is empty',
      {},
      [
        'spec.leaseName: Required value',
        'spec.binaryVersion: Required value',
        'spec.strategy: Required value',
      ],
    ],
    [
      'has versions that are none',
      { ...good, binaryVersion: 'x', emulationVersion: 'y' },
      [
        `spec.emulationVersion: Invalid value: "y": ${MALFORMED}`,
        `spec.binaryVersion: Invalid value: "x": ${MALFORMED}`,
        `spec.emulationVersion: ${NEEDED}`,
      ],
    ],
    [
      'has a malformed binaryVersion, which is below any other',
      { ...good, binaryVersion: 'v1.2.3' },
      [
        `spec.binaryVersion: Invalid value: "v1.2.3": ${MALFORMED}`,
        `spec.binaryVersion: Invalid value: "v1.2.3": ${TOO_LOW}`,
      ],
    ],
    [
      'emulates a later version',
      { ...good, emulationVersion: '1.2.4' },
      [`spec.binaryVersion: Invalid value: "1.2.3": ${TOO_LOW}`],
    ],
    [
      'is a pre-release of what it emulates',
      { ...good, binaryVersion: '1.2.0-rc.1' },
      [`spec.binaryVersion: Invalid value: "1.2.0-rc.1": ${TOO_LOW}`],
    ],
    [
      'emulates nothing under the strategy that needs it',
      { ...good, emulationVersion: '' },
      [`spec.emulationVersion: ${NEEDED}`],
    ],
    [
      'emulates 0.0.0, which counts as nothing',
      { ...good, emulationVersion: '0.0.0+a' },
      [`spec.emulationVersion: ${NEEDED}`],
    ],
    [
      'has an unknown strategy',
      { ...good, strategy: 'x' },
      [`spec.strategy.strategy: Unsupported value: "x": supported values: "${OLDEST}"`],
    ],
    [
      'has a strategy without a domain before its slash',
      { ...good, strategy: '/b' },
      [
        "spec.strategy.strategy: Invalid value: \"/b\": before the slash: must consist of lower case letters, digits, '-' and '.', each part starting and ending with a letter or digit",
      ],
    ],
  ])('%s', (_, spec, want) => {
    expect(check(spec)).toEqual(want);
  });

  test.each([
    '1.2',
    '01.2.3',
    '1.2.3-01',
    '1.2.3-',
    '1.2.3+',
    '1.2.3.4',
    ' 1.2.3',
    '1.2.3\n',
    '=1.2.3',
    '1.2.3-é',
  ])('has no version %j', (binaryVersion) => {
    expect(check({ ...good, binaryVersion })[0]).toContain(MALFORMED);
  });

  test('keeps the name of its Lease', () => {
    const old = v1beta1.toHub(make('v1beta1', good));
    const checkUpdate = (spec: JsonObject) =>
      linesOf(candidates.validate(v1beta1.toHub(make('v1beta1', spec), old), old));
    expect(checkUpdate({ ...good, renewTime: '2024-01-01T00:00:00.000000Z' })).toEqual([]);
    expect(checkUpdate({ ...good, leaseName: 'other' })).toEqual([
      'spec.leaseName: Invalid value: "other": field is immutable',
    ]);
    expect(checkUpdate({ ...good, leaseName: '' })).toEqual([
      'spec.leaseName: Required value',
      'spec.leaseName: Invalid value: "": field is immutable',
    ]);
  });
});

describe('a LeaseCandidate of v1alpha1', () => {
  const check = (spec: JsonObject) => linesOf(candidates.validate(v1alpha1.toHub(make('v1alpha1', spec))));

  test.each<[string, JsonObject, readonly string[]]>([
    ['is good', listed, []],
    ['needs the name of its Lease only', { leaseName: 'l' }, []],
    ['may name no strategy', { ...listed, preferredStrategies: [] }, []],
    ['may name one twice', { ...listed, preferredStrategies: ['a/b', 'a/b'] }, []],
    ['is empty', {}, ['spec.leaseName: Required value']],
    [
      'has no versions though one of its strategies needs them',
      { leaseName: 'l', preferredStrategies: ['a/b', OLDEST] },
      [`spec.binaryVersion: ${NEEDED}`, `spec.emulationVersion: ${NEEDED}`],
    ],
    [
      'has a malformed binaryVersion',
      { ...listed, binaryVersion: '1.2' },
      [
        `spec.binaryVersion: Invalid value: "1.2": ${MALFORMED}`,
        `spec.binaryVersion: Invalid value: "1.2": ${TOO_LOW}`,
        `spec.binaryVersion: ${NEEDED}`,
      ],
    ],
    [
      'has strategies that are none',
      { ...listed, preferredStrategies: ['a/b', 'x', ''] },
      [
        `spec.preferredStrategies[1].strategy: Unsupported value: "x": supported values: "${OLDEST}"`,
        `spec.preferredStrategies[2].strategy: Unsupported value: "": supported values: "${OLDEST}"`,
      ],
    ],
  ])('%s', (_, spec, want) => {
    expect(check(spec)).toEqual(want);
  });
});

describe('one object in several versions', () => {
  test('v1alpha2 has the fields of v1beta1', () => {
    const hub = v1alpha2.toHub(make('v1alpha2', good));
    expect(hub).toEqual(v1beta1.toHub(make('v1beta1', good)));
    expect(v1beta1.fromHub(hub)).toEqual(make('v1beta1', good));
    expect(v1alpha2.fromHub(hub)).toEqual(make('v1alpha2', good));
  });

  test('the only strategy is a list of one in v1alpha1', () => {
    const hub = v1beta1.toHub(make('v1beta1', good));
    expect(hub['spec']).toEqual(good);
    expect(v1alpha1.fromHub(hub)).toEqual(make('v1alpha1', listed));
  });

  test('the first of a list is the strategy in the other versions', () => {
    const hub = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: ['a/b', OLDEST] }));
    expect(hub.apiVersion).toBe(`${GROUP}/v1beta1`);
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ ...good, strategy: 'a/b' });
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ ...listed, preferredStrategies: ['a/b', OLDEST] });
  });

  test('nothing is made up for a candidate that names no strategy and no version', () => {
    const hub = v1alpha1.toHub(make('v1alpha1', { leaseName: 'l' }));
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ leaseName: 'l' });
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ leaseName: 'l', binaryVersion: '' });
  });

  test.each([
    ['keeps a list that begins with its strategy', 'a/b', ['a/b', OLDEST]],
    ['replaces one that does not', OLDEST, [OLDEST]],
  ])('a write through v1beta1 %s', (_, strategy, want) => {
    const previous = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: ['a/b', OLDEST] }));
    const hub = v1beta1.toHub(make('v1beta1', { ...good, strategy }), previous);
    expect(v1alpha1.fromHub(hub)['spec']).toEqual({ ...listed, preferredStrategies: want });
    expect(v1beta1.fromHub(hub)['spec']).toEqual({ ...good, strategy });
  });

  test('a write through v1beta1 needs a strategy even where none was named before', () => {
    const previous = v1alpha1.toHub(make('v1alpha1', { leaseName: 'l' }));
    const hub = v1beta1.toHub(make('v1beta1', { ...good, strategy: '' }), previous);
    expect(linesOf(candidates.validate(hub, previous))).toEqual(['spec.strategy: Required value']);
  });

  test('a write through v1alpha1 replaces the list', () => {
    const previous = v1alpha1.toHub(make('v1alpha1', listed));
    const hub = v1alpha1.toHub(make('v1alpha1', { ...listed, preferredStrategies: [] }), previous);
    expect(v1alpha1.fromHub(hub)['spec']).not.toHaveProperty('preferredStrategies');
  });

  test('the stored form is shown as it is in its own version', () => {
    const hub = v1beta1.toHub(make('v1beta1', good));
    expect(v1beta1.fromHub(hub)).toBe(hub);
  });
});

test.each([v1beta1, v1alpha1])(
  'a LeaseCandidate is printed with its Lease and its versions, in $version',
  (version) => {
    const hub = v1beta1.toHub(make('v1beta1', good));
    const candidate = {
      ...version.fromHub(hub),
      metadata: { name: 'x', creationTimestamp: '2024-01-01T00:00:00Z' },
    };
    const now = Date.UTC(2024, 0, 1, 0, 0, 5) / 1000;
    expect(version.columns.map(({ name, cell, priority }) => [name, cell(candidate, now), priority])).toEqual(
      [
        ['LeaseName', 'l', 0],
        ['BinaryVersion', '1.2.3', 0],
        ['EmulationVersion', '1.2.0', 0],
        ['Age', '5s', 0],
      ],
    );
  },
);

test('a LeaseCandidate can be selected by its name and namespace only', () => {
  expect(Object.keys(v1beta1.selectableFields(make('v1beta1', good)))).toEqual([
    'metadata.name',
    'metadata.namespace',
  ]);
});
