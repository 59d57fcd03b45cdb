import type { JsonObject } from '../../../src/support/json.ts';

/** The parts of a Lease that patches change. */
export interface Summary {
  readonly labels?: JsonObject;
  readonly finalizers?: readonly string[];
  /** uid:name:controller */
  readonly owners?: readonly string[];
  readonly spec: JsonObject;
}

/** A refusal, by its code: messages differ between servers. */
export interface Refusal {
  readonly code: number;
}

/** A patch of {@link patched}, and its result. Fields that the result omits are unchanged; undefined: removed. */
export type PatchCase = readonly [
  name: string,
  patch: unknown,
  want: { readonly [field in keyof Summary]?: Summary[field] | undefined } | Refusal,
];

export const patched = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: 'x',
    labels: { a: '1', b: '2' },
    annotations: { 'x/y': 'z' },
    ownerReferences: [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'u1' },
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: 'u2', controller: true },
    ],
    finalizers: ['e/a', 'e/b'],
  },
  spec: { holderIdentity: 'h', leaseDurationSeconds: 10 },
};

const nothing = {};
const rejected = { code: 422 };
const bad = { code: 400 };
const broken = { code: 500 };
const ofWrongType = { code: 422 };

/** Copies of labels and annotations into each other. */
function copiesOfCopies(times: number): readonly object[] {
  return Array.from({ length: times }, (_, index) => {
    const [from, to] = index % 2 === 0 ? ['labels', 'annotations'] : ['annotations', 'labels'];
    return { op: 'copy', from: `/metadata/${from}`, path: `/metadata/${to}/x${index}` };
  });
}

const third = { apiVersion: 'v1', kind: 'ConfigMap', name: 'three', uid: 'u3' };
const owners = ['u1:one:undefined', 'u2:two:true'] as const;

const add = (path: string, value: unknown) => ({ op: 'add', path, value });
const remove = (path: string) => ({ op: 'remove', path });
const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });
const move = (from: string, path: string) => ({ op: 'move', from, path });
const copy = (from: string, path: string) => ({ op: 'copy', from, path });
const test = (path: string, value: unknown) => ({ op: 'test', path, value });

export const jsonPatchCases: readonly PatchCase[] = [
  ['no operations', [], nothing],
  ['null', null, nothing],
  ['an object', {}, bad],
  ['a text', 'x', bad],
  ['numbers as operations', [1], bad],
  ['lists as operations', [[]], bad],
  ['a path that is no text', [{ op: 'remove', path: true }], bad],
  ['copies of copies, which double with each of them', copiesOfCopies(40), rejected],
  ['an operation that is null', [null], rejected],
  ['no op', [{ path: '/spec' }], rejected],
  ['an op that nobody knows', [{ op: 'frob', path: '/spec' }], rejected],
  ['an op that is null', [{ op: null, path: '/spec' }], rejected],

  ['add', [add('/metadata/labels/c', '3')], { labels: { a: '1', b: '2', c: '3' } }],
  ['add over something', [add('/metadata/labels/a', '3')], { labels: { a: '3', b: '2' } }],
  ['add without a path', [{ op: 'add', value: 1 }], rejected],
  [
    'add without a value',
    [{ op: 'add', path: '/spec/holderIdentity' }],
    { spec: { leaseDurationSeconds: 10 } },
  ],
  ['add to something absent', [add('/spec/x/y', 1)], rejected],
  ['add to a text', [add('/spec/holderIdentity/x', 1)], rejected],
  ['add at the root', [add('', {})], rejected],
  ['a path without a slash', [add('spec', {})], rejected],
  [
    'a path that does not begin with a slash',
    [add('ignored/spec/holderIdentity', 'i')],
    { spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  ],
  ['add at the end', [add('/metadata/finalizers/-', 'e/c')], { finalizers: ['e/a', 'e/b', 'e/c'] }],
  ['add after the last', [add('/metadata/finalizers/2', 'e/c')], { finalizers: ['e/a', 'e/b', 'e/c'] }],
  ['add in between', [add('/metadata/finalizers/01', 'e/c')], { finalizers: ['e/a', 'e/c', 'e/b'] }],
  ['add beyond', [add('/metadata/finalizers/3', 'e/c')], rejected],
  [
    'add at the end, from there',
    [add('/metadata/finalizers/-1', 'e/c')],
    { finalizers: ['e/a', 'e/b', 'e/c'] },
  ],
  [
    'add at the begin, from the end',
    [add('/metadata/finalizers/-3', 'e/c')],
    { finalizers: ['e/c', 'e/a', 'e/b'] },
  ],
  ['add before the begin', [add('/metadata/finalizers/-4', 'e/c')], rejected],
  ['add at what is no index', [add('/metadata/finalizers/x', 'e/c')], rejected],
  ['add at an empty index', [add('/metadata/finalizers/', 'e/c')], rejected],

  ['remove', [remove('/metadata/labels/a')], { labels: { b: '2' } }],
  ['remove all', [remove('/metadata/labels')], { labels: undefined }],
  ['remove something absent', [remove('/metadata/labels/c')], rejected],
  ['remove from something absent', [remove('/nope/nope')], rejected],
  ['remove the root', [remove('')], rejected],
  ['remove an item', [remove('/metadata/finalizers/0')], { finalizers: ['e/b'] }],
  ['remove the last item', [remove('/metadata/finalizers/-1')], { finalizers: ['e/a'] }],
  ['remove an item before the first', [remove('/metadata/finalizers/-3')], rejected],
  ['remove an item after the last', [remove('/metadata/finalizers/2')], rejected],
  ['remove the end', [remove('/metadata/finalizers/-')], rejected],

  [
    'replace',
    [replace('/spec/holderIdentity', 'i')],
    { spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  ],
  [
    'replace something absent',
    [replace('/spec/leaseTransitions', 3)],
    { spec: { holderIdentity: 'h', leaseDurationSeconds: 10, leaseTransitions: 3 } },
  ],
  ['replace in something absent', [replace('/nope/nope', 3)], rejected],
  ['replace the last item', [replace('/metadata/finalizers/-1', 'e/c')], { finalizers: ['e/a', 'e/c'] }],
  ['replace an item after the last', [replace('/metadata/finalizers/2', 'e/c')], rejected],
  ['replace the root by a number', [replace('', 5)], rejected],
  ['replace the root by null', [replace('', null)], rejected],
  ['replace the root by a list', [replace('', [])], ofWrongType],

  ['move', [move('/metadata/labels/a', '/metadata/labels/c')], { labels: { b: '2', c: '1' } }],
  [
    'move an item',
    [move('/metadata/finalizers/0', '/metadata/finalizers/1')],
    { finalizers: ['e/b', 'e/a'] },
  ],
  ['move something absent', [move('/metadata/labels/c', '/metadata/labels/d')], rejected],
  ['move from something absent', [move('/nope/c', '/metadata/labels/d')], rejected],
  ['move to something absent', [move('/metadata/labels/a', '/nope/d')], rejected],
  ['move into itself', [move('/metadata/labels', '/metadata/labels/d')], rejected],
  ['move without a from', [{ op: 'move', path: '/metadata/labels/d' }], rejected],
  ['move without a path', [{ op: 'move', from: '/metadata/labels/a' }], rejected],

  ['copy', [copy('/metadata/labels/a', '/metadata/labels/c')], { labels: { a: '1', b: '2', c: '1' } }],
  [
    'copy something absent',
    [copy('/metadata/labels/c', '/metadata/labels/d')],
    { labels: { a: '1', b: '2', d: '' } },
  ],
  ['copy an item that is absent', [copy('/metadata/finalizers/7', '/metadata/labels/d')], rejected],
  ['copy to something absent', [copy('/metadata/labels/a', '/nope/d')], rejected],

  ['test', [test('/spec', { leaseDurationSeconds: 10, holderIdentity: 'h' })], nothing],
  ['test an escaped path', [test('/metadata/annotations/x~1y', 'z')], nothing],
  ['test of another value', [test('/spec/holderIdentity', 'i')], rejected],
  ['test of another type', [test('/spec/leaseDurationSeconds', '10')], rejected],
  ['test of another order', [test('/metadata/finalizers', ['e/b', 'e/a'])], rejected],
  ['test of something absent', [test('/spec/x', 1)], rejected],
  ['test that something is absent', [test('/spec/x', null)], nothing],
  ['test that something is absent that is there', [test('/spec/holderIdentity', null)], rejected],
  ['test in something absent', [test('/nope/x', null)], rejected],
  ['test of the root', [test('', {})], rejected],
  [
    'nothing is done where one operation cannot be',
    [remove('/metadata/labels/a'), test('/metadata/labels/a', '1')],
    rejected,
  ],
];

export const mergePatchCases: readonly PatchCase[] = [
  ['null', null, bad],
  ['a list', [], bad],
  ['a number', 5, bad],
  ['nothing', {}, nothing],
  ['null for a struct', { spec: null }, { spec: {} }],
  ['null for a label', { metadata: { labels: { a: null, c: '3' } } }, { labels: { b: '2', c: '3' } }],
  ['null for what is not there', { spec: { x: null } }, nothing],
  [
    'null for all',
    { metadata: { labels: null, finalizers: null } },
    { labels: undefined, finalizers: undefined },
  ],
  ['a list replaces a list', { metadata: { finalizers: ['e/c'] } }, { finalizers: ['e/c'] }],
  [
    'nulls in the objects of a list',
    { metadata: { ownerReferences: [{ ...third, controller: null }] } },
    { owners: ['u3:three:undefined'] },
  ],
  ['fields that nobody knows', { spec: { x: 1, HolderIdentity: 'i' } }, nothing],
];

export const strategicMergePatchCases: readonly PatchCase[] = [
  ['null', null, nothing],
  ['a list', [], bad],
  ['nothing', {}, nothing],
  [
    'fields and nulls',
    { metadata: { labels: { a: null, c: '3' } }, spec: { holderIdentity: 'i' } },
    { labels: { b: '2', c: '3' }, spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  ],
  ['nulls in what is new', { spec: { x: { y: null } }, metadata: { labels: null } }, { labels: undefined }],

  ['a finalizer', { metadata: { finalizers: ['e/c'] } }, { finalizers: ['e/c', 'e/a', 'e/b'] }],
  [
    'finalizers that are there, or twice',
    { metadata: { finalizers: ['e/b', 'e/c', 'e/c'] } },
    { finalizers: ['e/a', 'e/b', 'e/c'] },
  ],
  ['no finalizers', { metadata: { finalizers: [] } }, nothing],
  ['null for the finalizers', { metadata: { finalizers: null } }, { finalizers: undefined }],
  ['a finalizer of another type', { metadata: { finalizers: [null] } }, broken],
  ['a finalizer that is a list', { metadata: { finalizers: [['x']] } }, broken],

  ['an owner', { metadata: { ownerReferences: [third] } }, { owners: ['u3:three:undefined', ...owners] }],
  [
    'an owner that is there',
    { metadata: { ownerReferences: [{ uid: 'u2', name: 'renamed', controller: null }] } },
    { owners: ['u1:one:undefined', 'u2:renamed:undefined'] },
  ],
  ['an owner without a uid', { metadata: { ownerReferences: [{ name: 'renamed' }] } }, broken],
  ['an owner that is a text', { metadata: { ownerReferences: ['x'] } }, broken],

  [
    '$patch: delete in a list',
    { metadata: { ownerReferences: [{ $patch: 'delete', uid: 'u1' }] } },
    { owners: ['u2:two:true'] },
  ],
  ['$patch: delete without a key', { metadata: { ownerReferences: [{ $patch: 'delete' }] } }, broken],
  [
    '$patch: replace in a list',
    { metadata: { ownerReferences: [third, { $patch: 'replace' }, { $patch: 'delete', uid: 'u1' }] } },
    { owners: ['u3:three:undefined'] },
  ],
  [
    '$patch: replace by nothing',
    { metadata: { ownerReferences: [{ $patch: 'replace' }] } },
    { owners: undefined },
  ],
  ['$patch: merge in a list', { metadata: { ownerReferences: [{ $patch: 'merge', uid: 'u1' }] } }, broken],
  [
    '$patch that nobody knows, in a list',
    { metadata: { ownerReferences: [{ $patch: 'frob', uid: 'u1' }] } },
    broken,
  ],
  ['$patch: delete', { spec: { $patch: 'delete' } }, { spec: {} }],
  [
    '$patch: replace',
    { spec: { $patch: 'replace', holderIdentity: 'i' }, metadata: { labels: { $patch: 'replace', c: '3' } } },
    { spec: { holderIdentity: 'i' }, labels: { c: '3' } },
  ],
  ['$patch that nobody knows', { spec: { $patch: 'merge', holderIdentity: 'i' } }, broken],
  ['$patch that is a number', { spec: { $patch: 5 } }, broken],
  ['$patch that is null', { spec: { $patch: null } }, broken],
  ['$patch that is an object', { spec: { $patch: { a: 1 } } }, broken],
  ['$patch in what is new', { metadata: { nope: { $patch: 'delete' } } }, nothing],

  ['$retainKeys that is no list', { spec: { $retainKeys: 'x' } }, bad],
  ['$retainKeys that is null', { spec: { $retainKeys: null } }, bad],

  [
    '$deleteFromPrimitiveList',
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['e/a', 'e/x'] } },
    { finalizers: ['e/b'] },
  ],
  [
    '$deleteFromPrimitiveList of nothing',
    { metadata: { '$deleteFromPrimitiveList/finalizers': [] } },
    nothing,
  ],
  [
    '$deleteFromPrimitiveList that is no list',
    { metadata: { '$deleteFromPrimitiveList/finalizers': 'e/a' } },
    nothing,
  ],
  [
    '$deleteFromPrimitiveList that is null',
    { metadata: { '$deleteFromPrimitiveList/finalizers': null } },
    { finalizers: undefined },
  ],
  ['$deleteFromPrimitiveList of no list', { metadata: { $deleteFromPrimitiveList: ['e/a'] } }, bad],
  [
    '$deleteFromPrimitiveList with more to its name',
    { metadata: { '$deleteFromPrimitiveListX/finalizers': ['e/a'] } },
    bad,
  ],
  [
    '$deleteFromPrimitiveList of what is not there',
    { metadata: { '$deleteFromPrimitiveList/nope': ['e/a'] } },
    nothing,
  ],
  ['$deleteFromPrimitiveList of labels', { metadata: { '$deleteFromPrimitiveList/labels': ['a'] } }, nothing],
  [
    '$setElementOrder',
    { metadata: { '$setElementOrder/finalizers': ['e/b', 'e/a'] } },
    { finalizers: ['e/b', 'e/a'] },
  ],
  [
    '$setElementOrder with an addition',
    { metadata: { '$setElementOrder/finalizers': ['e/b', 'e/c', 'e/a'], finalizers: ['e/c'] } },
    { finalizers: ['e/b', 'e/c', 'e/a'] },
  ],
  [
    '$setElementOrder of a part',
    { metadata: { '$setElementOrder/finalizers': ['e/b'], finalizers: ['e/b'] } },
    nothing,
  ],
  [
    '$setElementOrder with a deletion',
    {
      metadata: {
        '$setElementOrder/finalizers': ['e/b', 'e/c'],
        '$deleteFromPrimitiveList/finalizers': ['e/a'],
        finalizers: ['e/c'],
      },
    },
    { finalizers: ['e/b', 'e/c'] },
  ],
  [
    '$setElementOrder of nothing',
    { metadata: { '$setElementOrder/finalizers': [], finalizers: [] } },
    nothing,
  ],
  ['$setElementOrder that is no list', { metadata: { '$setElementOrder/finalizers': 'x' } }, broken],
  ['$setElementOrder of no list', { metadata: { $setElementOrder: ['x'] } }, bad],
  ['$setElementOrder of labels', { metadata: { '$setElementOrder/labels': ['x'] } }, broken],
  ['$setElementOrder of what nobody knows', { spec: { '$setElementOrder/nope': ['x'] } }, broken],
  [
    '$setElementOrder of owners',
    {
      metadata: {
        '$setElementOrder/ownerReferences': [{ uid: 'u3' }, { uid: 'u2' }, { uid: 'u1' }],
        ownerReferences: [third],
      },
    },
    { owners: ['u3:three:undefined', 'u2:two:true', 'u1:one:undefined'] },
  ],
  [
    '$setElementOrder of owners with a deletion',
    {
      metadata: {
        '$setElementOrder/ownerReferences': [{ uid: 'u2' }],
        ownerReferences: [{ $patch: 'delete', uid: 'u1' }],
      },
    },
    { owners: ['u2:two:true'] },
  ],
  [
    '$setElementOrder of owners without a uid',
    { metadata: { '$setElementOrder/ownerReferences': [{ name: 'x' }] } },
    broken,
  ],
  ['a number for a struct', { spec: 5 }, ofWrongType],
  ['a list for a struct', { spec: [] }, ofWrongType],
  ['a text for a map', { metadata: { labels: 'x' } }, ofWrongType],
  ['an object for a list', { metadata: { finalizers: { a: 1 } } }, ofWrongType],
  ['a whole number for a text', { spec: { holderIdentity: 5 } }, ofWrongType],
  ['a fraction for a text', { spec: { holderIdentity: 5.5 } }, ofWrongType],
  ['a whole number for a uid', { metadata: { ownerReferences: [{ uid: 5 }] } }, ofWrongType],
  [
    'a text for a truth value',
    { metadata: { ownerReferences: [{ ...third, controller: 'x' }] } },
    ofWrongType,
  ],
  ['a text for a number', { spec: { leaseDurationSeconds: 'x' } }, ofWrongType],
  ['a fraction for a number', { spec: { leaseDurationSeconds: 1.5 } }, ofWrongType],
  ['no time', { spec: { renewTime: 'x' } }, ofWrongType],
  ['a number for a time', { spec: { renewTime: 5 } }, ofWrongType],
];

/** The expected result of a case. */
export function wanted(want: PatchCase[2]): object {
  return 'code' in want ? want : { ...summaryOf(patched), ...want };
}

/** Returns the parts of a Lease that patches change. */
export function summaryOf(object: JsonObject): Summary {
  const { metadata, spec } = object as typeof patched;
  return {
    labels: metadata.labels,
    finalizers: metadata.finalizers,
    owners: metadata.ownerReferences?.map(({ uid, name, controller }) =>
      [uid, name, controller].map(String).join(':'),
    ),
    spec,
  };
}
