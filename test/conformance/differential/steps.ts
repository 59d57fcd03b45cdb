import fc from 'fast-check';

/** A request in the small world of the names below, as data. References are resolved when it is sent. */
export type Step =
  | WriteStep
  | PatchStep
  | JsonPatchStep
  | ApplyStep
  | DeleteStep
  | DeleteAllStep
  | GetStep
  | ListStep
  | RawStep;

/** Fields of a body; `undefined` omits one. */
export type Fields = Readonly<Record<string, unknown>>;

interface About {
  /**
   * Leases, LeaseCandidates in one of the served versions (modulo their number), or LeaseCandidates of this project's
   * group.
   */
  readonly resource: 'leases' | 'custom' | number;
  readonly name: string;
}

interface Asked {
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly userAgent?: string | undefined;
  readonly accept?: string | undefined;
}

/** The seen revision that a request names. */
export type Revision = 'none' | 'current' | 'old' | 'zero' | 'other';

export interface WriteStep extends About, Asked {
  readonly kind: 'create' | 'replace';
  readonly envelope: 'full' | 'bare' | 'wrong kind' | 'wrong version';
  /** Whether the rest of the body is the last seen state of the object. */
  readonly isBased: boolean;
  readonly revision: Revision;
  readonly uid: 'none' | 'own' | 'other';
  readonly metadata: Fields;
  readonly spec: Fields | undefined;
  readonly more: Fields;
}

export interface PatchStep extends About, Asked {
  readonly kind: 'merge patch' | 'strategic patch';
  readonly revision: Revision;
  readonly patch: Fields;
}

export interface JsonPatchStep extends About, Asked {
  readonly kind: 'JSON patch';
  readonly operations: readonly Fields[];
}

export interface ApplyStep extends About, Asked {
  readonly kind: 'apply';
  readonly manager: string;
  readonly envelope: WriteStep['envelope'];
  readonly revision: Revision;
  readonly metadata: Fields;
  readonly spec: Fields | undefined;
}

export interface DeleteStep extends About, Asked {
  readonly kind: 'delete';
  readonly options: Fields | undefined;
  readonly uid: WriteStep['uid'];
  readonly revision: Revision;
}

export interface DeleteAllStep extends Asked {
  readonly kind: 'delete all';
  readonly resource: About['resource'];
  readonly options: Fields | undefined;
}

export interface GetStep extends About, Asked {
  readonly kind: 'get';
}

export interface ListStep extends Asked {
  readonly kind: 'list';
  readonly resource: About['resource'];
  readonly revision: Revision;
  /** Continues the page that was seen this many pages ago; undefined: from the beginning. */
  readonly page: number | undefined;
}

/** A body that is not an object. */
export interface RawStep extends About, Asked {
  readonly kind: 'raw';
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly contentType: string;
  readonly body: string;
}

const names = ['a', 'b', 'c'] as const;
const times = ['2020-01-01T00:00:00.000000Z', '2020-02-02T02:02:02.222222Z'] as const;

/** Mostly `usual`, sometimes `odd`. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, ratio = 12): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: ratio }, { arbitrary: odd, weight: 1 });
}

/** An object with some of these fields. */
function some(fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Fields> {
  return fc.record(fields, { requiredKeys: [] });
}

const oddValue = fc.constantFrom<unknown>(null, 5, -1, 1.5, true, 'text', '', [], {}, ['x'], { x: 1 });
const holder = mostly<unknown>(fc.constantFrom('h1', 'h2', ''), oddValue);
const microTime = mostly<unknown>(
  fc.constantFrom(...times, null),
  fc.constantFrom<unknown>('2020-01-01T00:00:00Z', '2020-01-01T00:00:00.000001+01:00', 'never', '', 5),
);
const count = (...usual: readonly number[]) =>
  mostly<unknown>(fc.constantFrom<unknown>(...usual, null), oddValue);
const strategy = mostly<unknown>(
  fc.constantFrom('OldestEmulationVersion', 'example.com/custom'),
  fc.constantFrom<unknown>('Other', '', 'a/b/c', null, 5),
);
const version = mostly<unknown>(
  fc.constantFrom('1.2.3', '1.2.4', '1.2.4-rc.1', '2.0.0'),
  fc.constantFrom<unknown>('1.2', 'v1.2.3', '', null, 5),
);

const leaseSpec = some({
  holderIdentity: holder,
  leaseDurationSeconds: count(10, 20),
  acquireTime: microTime,
  renewTime: microTime,
  leaseTransitions: count(0, 1, 2),
  strategy,
  preferredHolder: holder,
});

/** Fields of all versions; {@link candidateFields} removes those that a version does not have. */
const candidateSpec = some({
  leaseName: mostly<unknown>(fc.constant('l1'), fc.constantFrom<unknown>('l2', '', null, 5)),
  pingTime: microTime,
  renewTime: microTime,
  binaryVersion: version,
  emulationVersion: version,
  strategy,
  preferredStrategies: mostly<unknown>(fc.array(strategy, { maxLength: 2 }), oddValue),
  priority: count(0, 1, 5),
});

/** The required fields of a LeaseCandidate, so that most creations succeed. */
export const validCandidate: Fields = {
  leaseName: 'l1',
  binaryVersion: '2.0.0',
  emulationVersion: '1.2.3',
};

const unknownFields = mostly<Fields>(
  fc.constant({}),
  some({ other: fc.constant(1), Spec: fc.constant({}) }),
  20,
);

const labelValue = mostly<unknown>(
  fc.constantFrom<unknown>('1', '2', null),
  fc.constantFrom<unknown>('not valid', 5, ''),
  15,
);
const labels = mostly<unknown>(
  some({ a: labelValue, b: labelValue }),
  fc.oneof(fc.constantFrom<unknown>(null, [], 'x'), fc.constant({ 'not valid': '1' })),
  15,
);
const finalizers = mostly<unknown>(
  fc.subarray(['x.io/one', 'x.io/two', 'plain']),
  fc.constantFrom<unknown>(
    null,
    ['x.io/one', 'x.io/one'],
    ['not valid'],
    'x',
    [5],
    ['orphan', 'foregroundDeletion'],
  ),
);
const owner = fc.constantFrom<Fields>(
  { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: '1' },
  { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: '2' },
  { apiVersion: 'v1', kind: 'ConfigMap', name: 'renamed', uid: '1' },
  { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: '1', controller: true },
);
const owners = mostly<unknown>(
  fc.array(owner, { maxLength: 2 }),
  fc.constantFrom<unknown>(null, [{}], 'x', [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: '3' }]),
);

const metadata = some({
  labels,
  annotations: mostly<unknown>(some({ a: fc.constantFrom('1', '2'), n: fc.constant('x') }), oddValue, 15),
  finalizers: mostly<unknown>(fc.constant(undefined), finalizers, 2),
  ownerReferences: mostly<unknown>(fc.constant(undefined), owners, 2),
  generation: mostly<unknown>(fc.constant(undefined), fc.constantFrom<unknown>(1, 3, 0, -1, 'x', null)),
  generateName: mostly<unknown>(fc.constant(undefined), fc.constantFrom<unknown>('gen-', 'Not_Valid', '')),
  creationTimestamp: mostly<unknown>(
    fc.constant(undefined),
    fc.constantFrom<unknown>('2020-01-01T00:00:00Z', null, 'x'),
  ),
  deletionTimestamp: mostly<unknown>(
    fc.constant(undefined),
    fc.constantFrom<unknown>('2020-01-01T00:00:00Z', null),
    20,
  ),
  deletionGracePeriodSeconds: mostly<unknown>(
    fc.constant(undefined),
    fc.constantFrom<unknown>(0, 5, null),
    20,
  ),
  selfLink: mostly<unknown>(fc.constant(undefined), fc.constant<unknown>('/x'), 20),
  managedFields: mostly<unknown>(
    fc.constant(undefined),
    fc.constantFrom<unknown>([], [{}], null, [
      {
        manager: 'given',
        operation: 'Update',
        apiVersion: 'coordination.k8s.io/v1',
        time: '2020-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } } },
      },
    ]),
    20,
  ),
  name: mostly<unknown>(fc.constant(undefined), fc.constantFrom<unknown>('b', 'Not_Valid', '', null), 25),
  namespace: mostly<unknown>(fc.constant(undefined), fc.constantFrom<unknown>('other', ''), 25),
});

const manager = fc.constantFrom('m1', 'm2', 'm3');
const query = (parameters: Readonly<Record<string, fc.Arbitrary<string | undefined>>>) =>
  fc.record({
    dryRun: mostly<string | undefined>(
      fc.constant(undefined),
      mostly<string | undefined>(fc.constant('All'), fc.constantFrom('x', '')),
      8,
    ),
    ...parameters,
  });
const writeQuery = query({
  fieldManager: mostly<string | undefined>(
    fc.constantFrom(undefined, 'u1', 'u2'),
    fc.constantFrom('x'.repeat(129), '\u0001'),
    25,
  ),
  fieldValidation: mostly<string | undefined>(
    fc.constant(undefined),
    fc.constantFrom('Ignore', 'Warn', 'Strict', 'strict'),
    5,
  ),
});

const accept = mostly<string | undefined>(
  fc.constant(undefined),
  fc.constantFrom('application/json;as=Table;v=v1;g=meta.k8s.io,application/json'),
);
const resource = fc.oneof(
  { arbitrary: fc.constant('leases' as const), weight: 3 },
  { arbitrary: fc.nat({ max: 1 }), weight: 2 },
  { arbitrary: fc.constant('custom' as const), weight: 2 },
);
const name = mostly<string>(fc.constantFrom(...names), fc.constantFrom('Not_Valid', 'd'), 25);
const about = { resource, name };
const envelope = mostly<WriteStep['envelope']>(
  fc.constantFrom('full', 'bare'),
  fc.constantFrom('wrong kind', 'wrong version'),
  20,
);
const uid = mostly<WriteStep['uid']>(fc.constant('none'), fc.constantFrom('own', 'other'), 8);
const anyRevision = fc.constantFrom<Revision>('none', 'old', 'zero', 'other');
const spec = (of: About['resource']) =>
  mostly<Fields | undefined>(of === 'leases' ? leaseSpec : candidateSpec, fc.constant(undefined), 5);

/** Returns the fields that the resource has. The rest of a step does not depend on this. */
function withSpec<T extends object>(
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
): fc.Arbitrary<T & About & { readonly spec: Fields | undefined }> {
  return resource.chain((of) =>
    fc.record({ ...fields, resource: fc.constant(of), name, spec: spec(of) }),
  ) as fc.Arbitrary<T & About & { readonly spec: Fields | undefined }>;
}

const create = withSpec<Omit<WriteStep, 'resource' | 'name' | 'spec'>>({
  kind: fc.constant('create' as const),
  query: writeQuery,
  accept,
  envelope,
  isBased: fc.constant(false),
  revision: mostly<Revision>(fc.constant('none'), fc.constant('other'), 20),
  uid,
  metadata,
  more: unknownFields,
});

const replace = withSpec<Omit<WriteStep, 'resource' | 'name' | 'spec'>>({
  kind: fc.constant('replace' as const),
  query: writeQuery,
  accept,
  envelope,
  isBased: fc.boolean(),
  revision: mostly<Revision>(fc.constant('current'), anyRevision, 5),
  uid,
  metadata,
  more: unknownFields,
});

const apply = withSpec<Omit<ApplyStep, 'resource' | 'name' | 'spec'>>({
  kind: fc.constant('apply' as const),
  query: query({
    force: mostly<string | undefined>(
      fc.constant(undefined),
      fc.constantFrom('true', 'false', '1', '0', 'x'),
      2,
    ),
    fieldValidation: mostly<string | undefined>(
      fc.constant(undefined),
      fc.constantFrom('Ignore', 'Warn', 'Strict'),
    ),
  }),
  accept,
  manager: mostly<string>(manager, fc.constantFrom('u1', ''), 15),
  envelope: mostly<WriteStep['envelope']>(fc.constant('full'), envelope, 10),
  revision: mostly<Revision>(fc.constant('none'), fc.constantFrom('current', 'old', 'other')),
  metadata,
});

const directives = some({
  '$deleteFromPrimitiveList/finalizers': fc.subarray(['x.io/one', 'plain']),
  '$setElementOrder/finalizers': fc.shuffledSubarray(['x.io/one', 'x.io/two', 'plain']),
  ownerReferences: fc.constantFrom<unknown>(
    [{ uid: '1', $patch: 'delete' }],
    [{ $patch: 'replace' }],
    [{ name: 'no uid' }],
  ),
  labels: fc.constantFrom<unknown>({ $patch: 'replace', b: '2' }, { $patch: 'delete' }),
});

const patch: fc.Arbitrary<PatchStep> = resource.chain((of) => {
  const fields = spec(of);
  const body = fc.record({
    metadata: mostly<Fields | undefined>(metadata, fc.constant(undefined), 2),
    spec: fields,
  });
  const oddPatch = fc.constantFrom<Fields>(
    { spec: null },
    { spec: 'x' },
    { spec: { $patch: 'replace', leaseTransitions: 1 } },
    { kind: 'Other' },
    { metadata: null },
    { other: 1 },
    {},
  );
  return fc.record<PatchStep>({
    kind: fc.constantFrom('merge patch', 'strategic patch'),
    resource: fc.constant(of),
    name,
    query: writeQuery,
    accept,
    revision: mostly<Revision>(fc.constant('none'), fc.constantFrom('current', 'old', 'zero', 'other'), 5),
    patch: fc.oneof(
      { arbitrary: body, weight: 10 },
      { arbitrary: oddPatch, weight: 1 },
      {
        arbitrary: fc.tuple(metadata, directives).map(([some, more]) => ({ metadata: { ...some, ...more } })),
        weight: 2,
      },
    ),
  });
});

const pointer = fc.constantFrom(
  '/metadata/labels',
  '/metadata/labels/a',
  '/metadata/labels/b',
  '/metadata/annotations',
  '/metadata/finalizers',
  '/metadata/finalizers/0',
  '/metadata/finalizers/-',
  '/metadata/resourceVersion',
  '/metadata/name',
  '/spec',
  '/spec/holderIdentity',
  '/spec/leaseTransitions',
  '/spec/leaseName',
  '/spec/renewTime',
  '/spec/priority',
  '/spec/strategy',
  '/spec/other',
  '/other/deeper',
);
const pointed = fc.constantFrom<unknown>(
  '1',
  'h1',
  1,
  0,
  null,
  { a: '1' },
  ['x.io/one'],
  'x.io/two',
  {},
  times[0],
);
const operation: fc.Arbitrary<Fields> = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value: pointed }),
  fc.record({ op: fc.constant('remove'), path: pointer }),
  // Each server has its own resourceVersions, so they are not copied.
  fc.record({
    op: fc.constantFrom('copy', 'move'),
    from: pointer.filter((each) => each !== '/metadata/resourceVersion'),
    path: pointer,
  }),
);
const jsonPatch = fc.record<JsonPatchStep>({
  kind: fc.constant('JSON patch'),
  ...about,
  query: writeQuery,
  accept,
  operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
});

const deleteOptions = mostly<Fields | undefined>(
  fc.constant(undefined),
  some({
    dryRun: mostly<unknown>(fc.constant(['All']), fc.constantFrom<unknown>(['x'], 'All', [])),
    propagationPolicy: mostly<unknown>(
      fc.constantFrom('Background', 'Foreground', 'Orphan'),
      fc.constantFrom<unknown>('Other', null, ''),
    ),
    gracePeriodSeconds: mostly<unknown>(fc.constantFrom(0, 30), oddValue),
    orphanDependents: mostly<unknown>(fc.boolean(), fc.constant(null)),
    kind: mostly<unknown>(fc.constant('DeleteOptions'), fc.constant('Other')),
    apiVersion: mostly<unknown>(fc.constantFrom('v1', 'meta.k8s.io/v1'), fc.constantFrom('x/v1', 'a/b/c')),
    other: fc.constant(1),
  }),
  1,
);
const deleteQuery = query({
  propagationPolicy: mostly<string | undefined>(
    fc.constant(undefined),
    fc.constantFrom('Background', 'Foreground', 'Orphan', 'Other'),
    5,
  ),
  gracePeriodSeconds: mostly<string | undefined>(fc.constant(undefined), fc.constantFrom('0', '30', 'x')),
});
const remove = fc.record<DeleteStep>({
  kind: fc.constant('delete'),
  ...about,
  query: deleteQuery,
  accept,
  options: deleteOptions,
  uid,
  revision: mostly<Revision>(fc.constant('none'), fc.constantFrom('current', 'old', 'other'), 5),
});

const labelSelector = mostly<string | undefined>(
  fc.constantFrom(undefined, 'a=1', 'a!=1', 'a', '!a', 'a in (1,2)', 'a notin (1)', 'a=1,b', 'a>1'),
  fc.constantFrom('a===', 'a in (', ',', 'not valid'),
);
const fieldSelector = mostly<string | undefined>(
  fc.constantFrom(undefined, undefined, 'metadata.name=a', 'metadata.name!=a'),
  fc.constantFrom('spec.leaseName=l1', 'x', ''),
);
const limit = fc.constantFrom(undefined, undefined, '1', '2', '100', '0', 'x');
const removeAll = fc.record<DeleteAllStep>({
  kind: fc.constant('delete all'),
  resource,
  query: fc
    .tuple(deleteQuery, labelSelector, fieldSelector, mostly(fc.constant(undefined), limit, 5))
    .map(([all, label, field, most]) => ({
      ...all,
      labelSelector: label,
      fieldSelector: field,
      limit: most,
    })),
  accept,
  options: deleteOptions,
});

const get = fc.record<GetStep>({
  kind: fc.constant('get'),
  ...about,
  query: fc.record({
    resourceVersion: mostly<string | undefined>(fc.constant(undefined), fc.constantFrom('0', '1', 'x', '')),
    pretty: mostly<string | undefined>(fc.constant(undefined), fc.constantFrom('true', 'false')),
  }),
  accept: mostly<string | undefined>(accept, fc.constantFrom('text/html', 'application/yaml', '*/*')),
});

const list = fc.record<ListStep>({
  kind: fc.constant('list'),
  resource,
  query: fc.record({
    limit,
    labelSelector,
    fieldSelector,
    resourceVersionMatch: mostly<string | undefined>(
      fc.constant(undefined),
      fc.constantFrom('Exact', 'NotOlderThan', 'Other', ''),
      3,
    ),
    includeObject: mostly<string | undefined>(fc.constant(undefined), fc.constantFrom('None', 'Object', 'x')),
  }),
  accept,
  // Not 0, which allows a server to answer with a slightly old state from memory.
  revision: mostly<Revision>(fc.constant('none'), fc.constantFrom('current', 'old', 'other'), 1),
  page: mostly<number | undefined>(fc.constant(undefined), fc.nat({ max: 2 }), 3),
});

const raw = fc.record<RawStep>({
  kind: fc.constant('raw'),
  ...about,
  query: fc.record({
    fieldManager: fc.constant('m1'),
    fieldValidation: fc.constantFrom(undefined, 'Strict'),
  }),
  method: fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'),
  contentType: fc.constantFrom(
    'application/json',
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
    'application/yaml',
    'text/plain',
    '',
  ),
  body: fc.constantFrom(
    '',
    '{',
    '[]',
    '{}',
    'null',
    '5',
    '"x"',
    '[{"op":"x"}]',
    '{"metadata":{"name":"a"}} x',
    '{"metadata":{"name":"a","name":"b"}}',
    '{"spec":{"leaseTransitions":1,"leaseTransitions":2}}',
    '{"metadata":{"name":"a","labels":{"a":"1","a":"2"}},"spec":{"holderIdentity":"h1"},"spec":{"leaseTransitions":1}}',
    'metadata:\n  name: a\nspec:\n  leaseTransitions: 1\n',
  ),
});

/** A request of any kind, mostly writes. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: create, weight: 6 },
  { arbitrary: replace, weight: 4 },
  { arbitrary: patch, weight: 5 },
  { arbitrary: jsonPatch, weight: 3 },
  { arbitrary: apply, weight: 6 },
  { arbitrary: remove, weight: 3 },
  { arbitrary: removeAll, weight: 1 },
  { arbitrary: get, weight: 1 },
  { arbitrary: list, weight: 4 },
  { arbitrary: raw, weight: 1 },
);
