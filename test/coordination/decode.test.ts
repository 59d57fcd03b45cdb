import { getHeapStatistics, queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { decodeLease, FIELD_MANAGER, PARTICIPANT_FIELD_MANAGER } from '../../src/coordination/lease.ts';
import { decodeLeaseCandidate } from '../../src/coordination/lease-candidate.ts';
import { FENCE, type Lease, NO_PRIORITY } from '../../src/election/model.ts';
import { OLDEST, WALL_START } from '../support/election-builders.ts';

const TIME = '2026-01-01T00:00:00.000001Z';
const MOMENT = WALL_START + 1n;
const metadata = { namespace: 'default', name: 'x', uid: 'u', resourceVersion: '7' };

describe('a Lease', () => {
  test('is decoded with all its fields', () => {
    const spec = {
      holderIdentity: 'a',
      preferredHolder: 'b',
      strategy: OLDEST,
      leaseDurationSeconds: 15,
      leaseTransitions: 3,
      acquireTime: TIME,
      renewTime: '2026-01-01T00:00:00.000002Z',
    };
    expect(decodeLease({ metadata, spec })).toEqual({
      ...metadata,
      ...spec,
      isPreferredHolderOurs: false,
      acquireTime: MOMENT,
      renewTime: MOMENT + 1n,
    });
  });

  test.each([
    { name: 'without a spec', fields: {} },
    { name: 'with a null spec', fields: { spec: null } },
    { name: 'with a list for a spec', fields: { spec: [] } },
    {
      name: 'with a wrong type everywhere',
      fields: {
        spec: {
          holderIdentity: 7,
          preferredHolder: {},
          strategy: [],
          leaseDurationSeconds: '15',
          leaseTransitions: 1.5,
          acquireTime: 7,
          renewTime: 'yesterday',
        },
      },
    },
    {
      name: 'with null everywhere',
      fields: {
        spec: {
          holderIdentity: null,
          preferredHolder: null,
          strategy: null,
          leaseDurationSeconds: null,
          leaseTransitions: null,
          acquireTime: null,
          renewTime: null,
        },
      },
    },
  ])('$name is one without fields', ({ fields }) => {
    expect(decodeLease({ metadata, ...fields })).toEqual({
      ...metadata,
      holderIdentity: undefined,
      preferredHolder: undefined,
      isPreferredHolderOurs: false,
      strategy: undefined,
      leaseDurationSeconds: undefined,
      leaseTransitions: 0,
      acquireTime: undefined,
      renewTime: undefined,
    });
  });

  test('distinguishes an empty holder from an absent one', () => {
    expect(decodeLease({ metadata, spec: { holderIdentity: '' } }).holderIdentity).toBe('');
    expect(decodeLease({ metadata, spec: {} }).holderIdentity).toBeUndefined();
  });

  test.each([
    ['enabled', true],
    ['true', undefined],
    ['', undefined],
  ])('asks for crash evidence by the annotation "%s": %s', (value, want) => {
    const annotations = { 'coordinated-leader-election.dev/crash-evidence': value };
    expect(decodeLease({ metadata: { ...metadata, annotations }, spec: {} }).asksForEvidence).toBe(want);
  });

  test('treats an empty preferredHolder as absent, like client-go', () => {
    expect(decodeLease({ metadata, spec: { preferredHolder: '' } }).preferredHolder).toBeUndefined();
  });
});

describe('the notes of a Lease (rule 14)', () => {
  const strategyNote = 'coordinated-leader-election.dev/strategy';
  const holderNote = 'coordinated-leader-election.dev/preferred-holder';

  test.each<{ name: string; annotations: unknown; spec: object; want: object }>([
    {
      name: 'count if the fields are not set',
      annotations: { [strategyNote]: 's', [holderNote]: 'b', other: 'x' },
      spec: {},
      want: {
        strategy: 's',
        preferredHolder: 'b',
        notes: { strategy: 's', preferredHolder: 'b' },
        isStrategyNoted: true,
        isPreferredHolderNoted: true,
        isPreferredHolderOurs: true,
      },
    },
    {
      name: 'do not count if the fields are set',
      annotations: { [strategyNote]: 's', [holderNote]: 'b' },
      spec: { strategy: 'x', preferredHolder: 'y' },
      want: {
        strategy: 'x',
        preferredHolder: 'y',
        isStrategyNoted: false,
        isPreferredHolderNoted: false,
        isPreferredHolderOurs: false,
      },
    },
    {
      name: 'count one by one',
      annotations: { [holderNote]: 'b' },
      spec: { strategy: 'x' },
      want: { strategy: 'x', preferredHolder: 'b', isStrategyNoted: false, isPreferredHolderNoted: true },
    },
    {
      name: 'are absent if they are empty, or not a text',
      annotations: { [strategyNote]: '', [holderNote]: 7 },
      spec: {},
      want: { strategy: undefined, preferredHolder: undefined },
    },
    { name: 'are none without annotations', annotations: 'none', spec: {}, want: { strategy: undefined } },
  ])('$name', ({ annotations, spec, want }) => {
    const lease = decodeLease({ metadata: { name: 'l', annotations }, spec });
    expect(lease).toMatchObject(want);
    expect('notes' in lease).toBe('notes' in want || 'isStrategyNoted' in want);
  });
});

describe('preferredHolder is ours', () => {
  const owned = { 'f:spec': { 'f:preferredHolder': {} } };

  test.each([
    {
      name: 'if our manager owns it',
      managedFields: [{ manager: FIELD_MANAGER, fieldsV1: owned }],
      want: true,
    },
    {
      name: 'if one of several entries of ours owns it',
      managedFields: [
        { manager: FIELD_MANAGER, fieldsV1: { 'f:spec': { 'f:renewTime': {} } } },
        { manager: 'kubectl', fieldsV1: {} },
        { manager: FIELD_MANAGER, fieldsV1: owned },
      ],
      want: true,
    },
    {
      name: 'but not if another manager owns it',
      managedFields: [{ manager: 'kube-apiserver', fieldsV1: owned }],
      want: false,
    },
    {
      name: 'but not if we only own other fields',
      managedFields: [{ manager: FIELD_MANAGER, fieldsV1: { 'f:spec': { 'f:strategy': {} } } }],
      want: false,
    },
    {
      name: 'but not if a field with that name is in another place',
      managedFields: [{ manager: FIELD_MANAGER, fieldsV1: { 'f:preferredHolder': {} } }],
      want: false,
    },
    { name: 'but not without field ownership', managedFields: undefined, want: false },
    {
      name: 'but not by invalid entries',
      managedFields: [null, 7, 'x', [], { manager: FIELD_MANAGER }],
      want: false,
    },
    {
      name: 'but not by a list that is none',
      managedFields: { manager: FIELD_MANAGER, fieldsV1: owned },
      want: false,
    },
  ])('$name', ({ managedFields, want }) => {
    const lease = decodeLease({
      metadata: { ...metadata, managedFields },
      spec: { preferredHolder: 'b' },
    });
    expect(lease.isPreferredHolderOurs).toBe(want);
  });
});

/** Returns an entry of managedFields: `manager` owns these fields of the spec. */
function entryOf(manager: string, ...fields: readonly string[]) {
  return { manager, fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) } };
}

/** Returns a Lease in which `manager` has written one field of the spec. */
function decodeWrittenBy(manager: string, field: string, holderIdentity: string) {
  const managedFields = [entryOf(manager, field)];
  return decodeLease({ metadata: { ...metadata, managedFields }, spec: { holderIdentity } });
}

test.each([
  { name: 'emptied by a participant', manager: PARTICIPANT_FIELD_MANAGER, holderIdentity: '', want: true },
  { name: 'emptied by another client', manager: 'kube-scheduler', holderIdentity: '', want: undefined },
  { name: 'of a participant', manager: PARTICIPANT_FIELD_MANAGER, holderIdentity: 'a', want: undefined },
])('a Lease $name is released by a participant: $want (rule 15)', ({ manager, holderIdentity, want }) => {
  const lease = decodeWrittenBy(manager, 'holderIdentity', holderIdentity);
  expect(lease.isReleasedByParticipant).toBe(want);
});

test.each([
  { name: 'by a participant', manager: PARTICIPANT_FIELD_MANAGER, holderIdentity: 'a', want: true },
  { name: 'by another client', manager: 'kube-scheduler', holderIdentity: 'a', want: undefined },
  { name: 'with its release', manager: PARTICIPANT_FIELD_MANAGER, holderIdentity: '', want: undefined },
])('a Lease whose renewTime was written $name is renewed by a participant: $want (rule 15)', (row) => {
  const lease = decodeWrittenBy(row.manager, 'renewTime', row.holderIdentity);
  expect(lease.isRenewedByParticipant).toBe(row.want);
});

test.each([
  { name: 'by a coordinator', manager: FIELD_MANAGER, holderIdentity: 'a', want: true },
  { name: 'by a participant', manager: PARTICIPANT_FIELD_MANAGER, holderIdentity: 'a', want: undefined },
  { name: 'with a release', manager: FIELD_MANAGER, holderIdentity: '', want: undefined },
])('a Lease whose renewTime was written $name is renewed by a coordinator: $want (rule 17)', (row) => {
  const lease = decodeWrittenBy(row.manager, 'renewTime', row.holderIdentity);
  expect(lease.isRenewedByCoordinator).toBe(row.want);
});

type FieldsOf = Readonly<Record<string, readonly string[]>>;

/** Returns a Lease with a holder. `fieldsOf`: the fields of the spec that each manager owns. */
function decodeOwnedBy(fieldsOf: FieldsOf, previous?: Lease) {
  const managedFields = Object.entries(fieldsOf).map(([manager, fields]) => entryOf(manager, ...fields));
  return decodeLease({ metadata: { ...metadata, managedFields }, spec: { holderIdentity: 'a' } }, previous);
}

test.each<{ name: string; fieldsOf: FieldsOf; want?: true }>([
  {
    name: 'by the built-in, which keeps the acquireTime of our grant',
    fieldsOf: { 'kube-apiserver': ['holderIdentity', 'renewTime'], [FIELD_MANAGER]: ['acquireTime'] },
    want: true,
  },
  {
    name: 'by the built-in, which creates a Lease without acquireTime',
    fieldsOf: { 'kube-apiserver': ['holderIdentity', 'renewTime'] },
    want: true,
  },
  {
    name: 'by the holder that the built-in chose',
    fieldsOf: { 'kube-apiserver': ['holderIdentity'], 'kube-scheduler': ['renewTime'] },
  },
  {
    name: 'by an elector that took the Lease',
    fieldsOf: { 'kube-scheduler': ['holderIdentity', 'acquireTime', 'renewTime'] },
  },
  {
    name: 'by the holder that we chose, which applies its own holderIdentity, too',
    fieldsOf: {
      [FIELD_MANAGER]: ['holderIdentity', 'acquireTime'],
      'in-house': ['holderIdentity', 'renewTime'],
    },
  },
])('a Lease that was renewed $name is renewed by a coordinator: $want (rule 8)', ({ fieldsOf, want }) => {
  const lease = decodeOwnedBy(fieldsOf);
  expect(lease.isRenewedByCoordinator).toBe(want);
});

test.each<{ name: string; fieldsOf: FieldsOf; want?: true }>([
  {
    name: 'our coordinator',
    fieldsOf: { [FIELD_MANAGER]: ['leaseDurationSeconds'], 'kube-scheduler': ['renewTime'] },
    want: true,
  },
  {
    name: 'the holder, with its renewal',
    fieldsOf: { 'kube-scheduler': ['leaseDurationSeconds', 'renewTime'] },
    want: true,
  },
  {
    name: 'another client',
    fieldsOf: { kubectl: ['leaseDurationSeconds'], 'kube-scheduler': ['renewTime'] },
  },
  {
    name: 'the built-in, with its grant',
    fieldsOf: { 'kube-apiserver': ['holderIdentity', 'leaseDurationSeconds', 'renewTime'] },
  },
])(
  'the duration of a Lease that $name wrote counts as its holder’s: $want (rule 8)',
  ({ fieldsOf, want }) => {
    const lease = decodeOwnedBy(fieldsOf);
    expect(lease.isDurationHolders).toBe(want);
  },
);

describe('the duration of a Lease that another client than its holder has renewed (rule 8)', () => {
  const both = ['leaseDurationSeconds', 'renewTime'];
  const renewedByHolder = decodeOwnedBy({ [FIELD_MANAGER]: ['holderIdentity'], 'kube-scheduler': both });

  test('does not count as its holder’s, however often that client writes both fields', () => {
    const fieldsOf = { [FIELD_MANAGER]: ['holderIdentity'], kubectl: both };
    const forged = decodeOwnedBy(fieldsOf, renewedByHolder);
    expect(forged.isDurationHolders).toBeUndefined();
    const again = decodeOwnedBy(fieldsOf, forged);
    expect(again.isDurationHolders).toBeUndefined();
    expect(decodeOwnedBy({ 'kube-scheduler': both }, again).isDurationHolders).toBe(true);
  });

  test('counts again for another holder, and for another Lease of this name', () => {
    const former = { ...renewedByHolder, holderIdentity: 'b' };
    expect(decodeOwnedBy({ kubectl: both }, former).isDurationHolders).toBe(true);
    expect(decodeOwnedBy({ kubectl: both }, { ...renewedByHolder, uid: 'x' }).isDurationHolders).toBe(true);
  });

  test('counts after our grant: the holder’s first renewal tells its manager', () => {
    const granted = decodeOwnedBy({ [FIELD_MANAGER]: ['holderIdentity', 'acquireTime', ...both] });
    expect(granted.renewer).toBeUndefined();
    expect(decodeOwnedBy({ 'kube-scheduler': both }, granted)).toMatchObject({
      renewer: 'kube-scheduler',
      isDurationHolders: true,
    });
  });
});

describe('a grant that its holder has not renewed, by the server’s field ownership (rule 12)', () => {
  const spec = { holderIdentity: 'a', leaseDurationSeconds: 10, acquireTime: TIME, renewTime: TIME };
  const granted = entryOf(FIELD_MANAGER, ...Object.keys(spec));
  const later = '2026-01-01T00:00:00.000002Z';

  test.each<{ name: string; spec?: object; managedFields?: readonly unknown[]; want?: true }>([
    { name: 'is as a coordinator has written it', want: true },
    {
      name: 'is provisional beside fields of others',
      managedFields: [entryOf('kubectl', 'strategy'), granted, entryOf('kubectl', 'preferredHolder')],
      want: true,
    },
    { name: 'has another renewTime once it is renewed', spec: { ...spec, renewTime: later } },
    { name: 'is not the return of a Lease to its holder', spec: { ...spec, acquireTime: later } },
    { name: 'is not without times', spec: { holderIdentity: 'a', leaseDurationSeconds: 10 } },
    { name: 'is not without a holder', spec: { ...spec, holderIdentity: '' } },
    {
      name: 'is not a fence, which is written while its former holder leads (rule 14)',
      spec: { ...spec, holderIdentity: FENCE },
    },
    {
      name: 'is not a write of another client',
      managedFields: [entryOf('kube-apiserver', ...Object.keys(spec))],
    },
    { name: 'is not if no manager owns a field', managedFields: [] },
    ...['holderIdentity', 'leaseDurationSeconds', 'acquireTime', 'renewTime'].flatMap((field) => [
      {
        name: `is not if another client has written ${field} instead`,
        managedFields: [
          entryOf(FIELD_MANAGER, ...Object.keys(spec).filter((other) => other !== field)),
          entryOf('kube-scheduler', field),
        ],
      },
      {
        name: `is not if another client owns ${field}, too`,
        managedFields: [granted, entryOf('kube-scheduler', field)],
      },
    ]),
  ])('$name', ({ spec: written = spec, managedFields = [granted], want }) => {
    const lease = decodeLease({ metadata: { ...metadata, managedFields }, spec: written });
    expect(lease.isUnrenewedGrant).toBe(want);
  });
});

describe('a LeaseCandidate', () => {
  const spec = {
    leaseName: 'scheduler',
    binaryVersion: '1.36.0',
    emulationVersion: '1.35.0',
    renewTime: TIME,
    pingTime: '2026-01-01T00:00:00.000003Z',
  };
  const want = {
    source: 'native',
    ...metadata,
    ...spec,
    creationTimestamp: WALL_START,
    isDeleting: false,
    priority: NO_PRIORITY,
    renewTime: MOMENT,
    pingTime: MOMENT + 2n,
  };
  const meta = { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z' };

  test.each([
    { version: 'v1beta1', fields: { strategy: OLDEST }, preference: { kind: 'strategy', strategy: OLDEST } },
    { version: 'v1alpha2', fields: { strategy: OLDEST }, preference: { kind: 'strategy', strategy: OLDEST } },
    {
      version: 'v1alpha1',
      fields: { preferredStrategies: ['example.com/x', OLDEST] },
      preference: { kind: 'preferredStrategies', strategies: ['example.com/x', OLDEST] },
    },
  ])('of $version is decoded with all its fields', ({ version, fields, preference }) => {
    const object = {
      apiVersion: `coordination.k8s.io/${version}`,
      metadata: meta,
      spec: { ...spec, ...fields },
    };
    expect(decodeLeaseCandidate(object)).toEqual({ ...want, preference });
  });

  test.each([
    { name: 'says which it emulates', emulationVersion: '1.35.0', want: '1.35.0' },
    { name: 'does not say which it emulates', emulationVersion: undefined, want: '1.36.0' },
  ])('of our own group that $name is decoded as such (rule 13)', ({ emulationVersion, want: wanted }) => {
    const object = {
      apiVersion: 'coordinated-leader-election.dev/v1alpha1',
      metadata: meta,
      spec: { ...spec, emulationVersion, strategy: OLDEST },
    };
    expect(decodeLeaseCandidate(object)).toEqual({
      ...want,
      source: 'custom',
      emulationVersion: wanted,
      preference: { kind: 'strategy', strategy: OLDEST },
    });
  });

  const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0', uid: 'p' };
  test.each([
    { name: 'nobody', ownerReferences: undefined, want: undefined },
    { name: 'a Pod', ownerReferences: [pod], want: { name: 'web-0', uid: 'p' } },
    {
      name: 'others beside a Pod',
      ownerReferences: [{ ...pod, kind: 'Job' }, { ...pod, apiVersion: 'v2' }, pod],
      want: { name: 'web-0', uid: 'p' },
    },
    { name: 'a Pod without a uid', ownerReferences: [{ ...pod, uid: undefined }], want: undefined },
    { name: 'a value that is not a list', ownerReferences: 'web-0', want: undefined },
  ])('contains the Pod that owns it: $name', ({ ownerReferences, want }) => {
    expect(decodeLeaseCandidate({ metadata: { ...metadata, ownerReferences } }).pod).toEqual(want);
  });

  test('keeps the valid names of its preferredStrategies', () => {
    const preferredStrategies = ['', 7, null, OLDEST, {}];
    expect(decodeLeaseCandidate({ metadata, spec: { preferredStrategies } }).preference).toEqual({
      kind: 'preferredStrategies',
      strategies: [OLDEST],
    });
  });

  test('without a spec is one without fields', () => {
    expect(decodeLeaseCandidate({ metadata })).toEqual({
      source: 'native',
      ...metadata,
      creationTimestamp: undefined,
      isDeleting: false,
      leaseName: '',
      binaryVersion: undefined,
      emulationVersion: undefined,
      preference: { kind: 'strategy', strategy: '' },
      priority: NO_PRIORITY,
      renewTime: undefined,
      pingTime: undefined,
    });
  });

  test.each([
    { fields: { deletionTimestamp: '2026-01-01T00:00:00Z' }, isDeleting: true },
    { fields: { deletionTimestamp: null }, isDeleting: false },
    { fields: {}, isDeleting: false },
  ])('with $fields is deleting: $isDeleting', ({ fields, isDeleting }) => {
    expect(decodeLeaseCandidate({ metadata: { ...metadata, ...fields } }).isDeleting).toBe(isDeleting);
  });

  test('without a namespace or a uid is decoded as well', () => {
    expect(decodeLeaseCandidate({ metadata: { name: 'x' } })).toMatchObject({
      namespace: '',
      uid: '',
      resourceVersion: '',
    });
  });
});

test('long texts do not stay in memory after their objects', () => {
  const usedBytes = () => {
    // Collects garbage first.
    queryObjects(Map, { format: 'count' });
    return getHeapStatistics().used_heap_size;
  };
  const before = usedBytes();
  for (let index = 0; index < 900; index++) {
    // As from JSON: a separate string.
    const long = JSON.parse(`"${`${index}`.padStart(20_000, '0')}"`) as string;
    decodeLeaseCandidate({
      metadata: { name: 'a', namespace: long },
      spec: { leaseName: long, binaryVersion: long, emulationVersion: long, strategy: long },
    });
    decodeLease({ metadata: { name: 'a', namespace: long }, spec: { strategy: long } });
  }
  expect(usedBytes() - before).toBeLessThan(4_000_000);
});

describe('the next state of an object', () => {
  const metadata = { name: 'a', namespace: 'b', uid: 'c' };

  test('has only its own fields', () => {
    const object = {
      metadata,
      spec: { leaseName: 'l', binaryVersion: '1.0.0', strategy: 'S', holderIdentity: 'h' },
    };
    for (const decode of [decodeLeaseCandidate, decodeLease] as ((...states: unknown[]) => unknown)[]) {
      const previous = decode(object);
      expect(decode({ metadata: { name: 'a' } }, previous)).toEqual(decode({ metadata: { name: 'a' } }));
      expect(decode(object, decode({ metadata: { name: 'a' } }))).toEqual(previous);
    }
  });
});
