import fc from 'fast-check';
import { stringify } from 'yaml';
import { someName, wildCandidate, wildJson, wildLease, wildObject, wildText } from './wild-values.ts';

/** The parts of a request to a server. */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const root = '/apis/coordination.k8s.io';
export const collection = fc.constantFrom(
  `${root}/v1/namespaces/default/leases`,
  `${root}/v1beta1/namespaces/default/leasecandidates`,
  `${root}/v1alpha1/namespaces/default/leasecandidates`,
  '/apis/coordinated-leader-election.dev/v1alpha1/namespaces/default/leasecandidates',
  '/api/v1/namespaces/default/events',
  '/api/v1/namespaces',
);

const place = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(collection, someName).map((parts) => parts.join('/')) },
  { weight: 3, arbitrary: collection },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      `${root}/v1/watch/leases`,
      `${root}/v1/leases`,
      '/openapi/v3',
      '/apis',
      '/',
      '//',
      '/api/',
      '/apis/x/y/z',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(collection, wildText)
      .map(([path, text]) => `${path}/${encodeURIComponent(text.toWellFormed())}`),
  },
);

const parameter = fc.constantFrom(
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'watch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'pretty',
  'propagationPolicy',
  'gracePeriodSeconds',
  'orphanDependents',
  'includeObject',
  'timeout',
);
const setting = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    'true',
    'false',
    'All',
    'Strict',
    'Warn',
    'Ignore',
    'Exact',
    'NotOlderThan',
    'a=b',
    'a in (b,c),!d',
    'metadata.name=a',
    'Background',
    'Orphan',
    '1s',
    '-1',
  ),
  wildText,
);

const jsonPatch = fc.array(
  wildObject({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    path: pointer(),
    from: pointer(),
    value: wildJson,
  }),
  { maxLength: 6 },
);

function pointer(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      '',
      '/',
      '/metadata',
      '/metadata/labels',
      '/metadata/labels/a',
      '/metadata/finalizers/-',
      '/metadata/finalizers/0',
      '/spec',
      '/spec/holderIdentity',
      '/metadata/managedFields',
      '/x/y/z',
      '/__proto__/x',
      '/constructor/prototype',
    ),
    wildText,
  );
}

const directives = wildObject({
  $patch: fc.constantFrom('replace', 'delete', 'merge'),
  $retainKeys: fc.array(wildText, { maxLength: 2 }),
  metadata: wildObject({
    '$setElementOrder/finalizers': fc.array(wildText, { maxLength: 3 }),
    '$deleteFromPrimitiveList/finalizers': fc.array(wildText, { maxLength: 3 }),
    '$setElementOrder/ownerReferences': fc.array(wildJson, { maxLength: 3 }),
    finalizers: fc.array(wildText, { maxLength: 3 }),
    ownerReferences: fc.array(
      wildObject({ uid: wildText, $patch: fc.constantFrom('delete', 'replace', 'merge') }),
      { maxLength: 3 },
    ),
  }),
});

const value = fc.oneof(
  { weight: 4, arbitrary: wildLease },
  { weight: 2, arbitrary: wildCandidate },
  { weight: 1, arbitrary: jsonPatch },
  { weight: 1, arbitrary: directives },
  { weight: 1, arbitrary: wildJson },
);

const deep = fc
  .record({
    open: fc.constantFrom('[', '{"a":', '- ', '? '),
    levels: fc.constantFrom(10, 500, 3000, 20_000),
    isWhole: fc.boolean(),
  })
  .map(({ open, levels, isWhole }) => {
    const close = open === '[' ? ']' : open.startsWith('{') ? '}' : '';
    return `${open.repeat(levels)}1${isWhole ? close.repeat(levels) : ''}`;
  });

const body: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 8, arbitrary: value.map((each) => JSON.stringify(each)) },
  { weight: 2, arbitrary: value.map((each) => stringify(each)) },
  { weight: 1, arbitrary: wildText },
  { weight: 1, arbitrary: deep },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([Buffer.from('k8s\0'), bytes])),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'a: &a [*a]',
      'a: *b',
      '<<: 1',
      '!!binary x',
      '"\\ud800"',
      '{"a":1,"a":2}',
      '%YAML 9.9\n---\na',
    ),
  },
);

export const mediaType = fc.constantFrom(
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'text/plain',
  '',
);

const accept = fc.oneof(
  fc.constantFrom(
    'application/json',
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    '*/*',
    '',
  ),
  fc.string({ maxLength: 30 }),
);

/** A request that is often invalid. */
export const wildRequest: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom(
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'PATCH',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'PURGE',
  ),
  path: place,
  query: fc.array(fc.tuple(parameter, setting), { maxLength: 3 }),
  headers: fc.record({ 'content-type': mediaType, accept, 'user-agent': fc.string({ maxLength: 20 }) }),
  body,
});
