import type { JsonObject } from '../../../src/support/json.ts';

/** What patches change, of a Lease. */
export interface Summary {
  readonly labels?: JsonObject;
  readonly finalizers?: readonly string[];
  /** uid:name:controller */
  readonly owners?: readonly string[];
  readonly spec: JsonObject;
}

/** A refusal, by its code: the words are those of each server. */
export interface Refusal {
  readonly code: number;
}

/** A patch of {@link patched}; what `want` does not name stays as it is, and undefined goes. */
export interface PatchCase {
  readonly name: string;
  readonly patch: unknown;
  readonly want: { readonly [field in keyof Summary]?: Summary[field] | undefined } | Refusal;
}

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

/** Labels and annotations, copied into each other. */
function copiesOfCopies(times: number): readonly object[] {
  return Array.from({ length: times }, (_, index) => {
    const [from, to] = index % 2 === 0 ? ['labels', 'annotations'] : ['annotations', 'labels'];
    return { op: 'copy', from: `/metadata/${from}`, path: `/metadata/${to}/x${index}` };
  });
}

const third = { apiVersion: 'v1', kind: 'ConfigMap', name: 'three', uid: 'u3' };
const owners = ['u1:one:undefined', 'u2:two:true'] as const;

export const jsonPatchCases: readonly PatchCase[] = [
  { name: 'no operations', patch: [], want: nothing },
  { name: 'null', patch: null, want: nothing },
  {
    name: 'an object',
    patch: {},
    want: bad,
  },
  {
    name: 'a text',
    patch: 'x',
    want: bad,
  },
  {
    name: 'numbers as operations',
    patch: [1],
    want: bad,
  },
  {
    name: 'lists as operations',
    patch: [[]],
    want: bad,
  },
  {
    name: 'a path that is no text',
    patch: [{ op: 'remove', path: true }],
    want: bad,
  },
  { name: 'copies of copies, which double with each of them', patch: copiesOfCopies(40), want: rejected },
  { name: 'an operation that is null', patch: [null], want: rejected },
  { name: 'no op', patch: [{ path: '/spec' }], want: rejected },
  { name: 'an op that nobody knows', patch: [{ op: 'frob', path: '/spec' }], want: rejected },
  { name: 'an op that is null', patch: [{ op: null, path: '/spec' }], want: rejected },

  {
    name: 'add',
    patch: [{ op: 'add', path: '/metadata/labels/c', value: '3' }],
    want: { labels: { a: '1', b: '2', c: '3' } },
  },
  {
    name: 'add over something',
    patch: [{ op: 'add', path: '/metadata/labels/a', value: '3' }],
    want: { labels: { a: '3', b: '2' } },
  },
  { name: 'add without a path', patch: [{ op: 'add', value: 1 }], want: rejected },
  {
    name: 'add without a value',
    patch: [{ op: 'add', path: '/spec/holderIdentity' }],
    want: { spec: { leaseDurationSeconds: 10 } },
  },
  { name: 'add to something absent', patch: [{ op: 'add', path: '/spec/x/y', value: 1 }], want: rejected },
  { name: 'add to a text', patch: [{ op: 'add', path: '/spec/holderIdentity/x', value: 1 }], want: rejected },
  { name: 'add at the root', patch: [{ op: 'add', path: '', value: {} }], want: rejected },
  { name: 'a path without a slash', patch: [{ op: 'add', path: 'spec', value: {} }], want: rejected },
  {
    name: 'a path that does not begin with a slash',
    patch: [{ op: 'add', path: 'ignored/spec/holderIdentity', value: 'i' }],
    want: { spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  },
  {
    name: 'add at the end',
    patch: [{ op: 'add', path: '/metadata/finalizers/-', value: 'e/c' }],
    want: { finalizers: ['e/a', 'e/b', 'e/c'] },
  },
  {
    name: 'add after the last',
    patch: [{ op: 'add', path: '/metadata/finalizers/2', value: 'e/c' }],
    want: { finalizers: ['e/a', 'e/b', 'e/c'] },
  },
  {
    name: 'add in between',
    patch: [{ op: 'add', path: '/metadata/finalizers/01', value: 'e/c' }],
    want: { finalizers: ['e/a', 'e/c', 'e/b'] },
  },
  {
    name: 'add beyond',
    patch: [{ op: 'add', path: '/metadata/finalizers/3', value: 'e/c' }],
    want: rejected,
  },
  {
    name: 'add at the end, from there',
    patch: [{ op: 'add', path: '/metadata/finalizers/-1', value: 'e/c' }],
    want: { finalizers: ['e/a', 'e/b', 'e/c'] },
  },
  {
    name: 'add at the begin, from the end',
    patch: [{ op: 'add', path: '/metadata/finalizers/-3', value: 'e/c' }],
    want: { finalizers: ['e/c', 'e/a', 'e/b'] },
  },
  {
    name: 'add before the begin',
    patch: [{ op: 'add', path: '/metadata/finalizers/-4', value: 'e/c' }],
    want: rejected,
  },
  {
    name: 'add at what is no index',
    patch: [{ op: 'add', path: '/metadata/finalizers/x', value: 'e/c' }],
    want: rejected,
  },
  {
    name: 'add at an empty index',
    patch: [{ op: 'add', path: '/metadata/finalizers/', value: 'e/c' }],
    want: rejected,
  },

  { name: 'remove', patch: [{ op: 'remove', path: '/metadata/labels/a' }], want: { labels: { b: '2' } } },
  { name: 'remove all', patch: [{ op: 'remove', path: '/metadata/labels' }], want: { labels: undefined } },
  { name: 'remove something absent', patch: [{ op: 'remove', path: '/metadata/labels/c' }], want: rejected },
  { name: 'remove from something absent', patch: [{ op: 'remove', path: '/nope/nope' }], want: rejected },
  { name: 'remove the root', patch: [{ op: 'remove', path: '' }], want: rejected },
  {
    name: 'remove an item',
    patch: [{ op: 'remove', path: '/metadata/finalizers/0' }],
    want: { finalizers: ['e/b'] },
  },
  {
    name: 'remove the last item',
    patch: [{ op: 'remove', path: '/metadata/finalizers/-1' }],
    want: { finalizers: ['e/a'] },
  },
  {
    name: 'remove an item before the first',
    patch: [{ op: 'remove', path: '/metadata/finalizers/-3' }],
    want: rejected,
  },
  {
    name: 'remove an item after the last',
    patch: [{ op: 'remove', path: '/metadata/finalizers/2' }],
    want: rejected,
  },
  { name: 'remove the end', patch: [{ op: 'remove', path: '/metadata/finalizers/-' }], want: rejected },

  {
    name: 'replace',
    patch: [{ op: 'replace', path: '/spec/holderIdentity', value: 'i' }],
    want: { spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  },
  {
    name: 'replace something absent',
    patch: [{ op: 'replace', path: '/spec/leaseTransitions', value: 3 }],
    want: { spec: { holderIdentity: 'h', leaseDurationSeconds: 10, leaseTransitions: 3 } },
  },
  {
    name: 'replace in something absent',
    patch: [{ op: 'replace', path: '/nope/nope', value: 3 }],
    want: rejected,
  },
  {
    name: 'replace the last item',
    patch: [{ op: 'replace', path: '/metadata/finalizers/-1', value: 'e/c' }],
    want: { finalizers: ['e/a', 'e/c'] },
  },
  {
    name: 'replace an item after the last',
    patch: [{ op: 'replace', path: '/metadata/finalizers/2', value: 'e/c' }],
    want: rejected,
  },
  { name: 'replace the root by a number', patch: [{ op: 'replace', path: '', value: 5 }], want: rejected },
  { name: 'replace the root by null', patch: [{ op: 'replace', path: '', value: null }], want: rejected },
  {
    name: 'replace the root by a list',
    patch: [{ op: 'replace', path: '', value: [] }],
    want: ofWrongType,
  },

  {
    name: 'move',
    patch: [{ op: 'move', from: '/metadata/labels/a', path: '/metadata/labels/c' }],
    want: { labels: { b: '2', c: '1' } },
  },
  {
    name: 'move an item',
    patch: [{ op: 'move', from: '/metadata/finalizers/0', path: '/metadata/finalizers/1' }],
    want: { finalizers: ['e/b', 'e/a'] },
  },
  {
    name: 'move something absent',
    patch: [{ op: 'move', from: '/metadata/labels/c', path: '/metadata/labels/d' }],
    want: rejected,
  },
  {
    name: 'move from something absent',
    patch: [{ op: 'move', from: '/nope/c', path: '/metadata/labels/d' }],
    want: rejected,
  },
  {
    name: 'move to something absent',
    patch: [{ op: 'move', from: '/metadata/labels/a', path: '/nope/d' }],
    want: rejected,
  },
  {
    name: 'move into itself',
    patch: [{ op: 'move', from: '/metadata/labels', path: '/metadata/labels/d' }],
    want: rejected,
  },
  { name: 'move without a from', patch: [{ op: 'move', path: '/metadata/labels/d' }], want: rejected },
  { name: 'move without a path', patch: [{ op: 'move', from: '/metadata/labels/a' }], want: rejected },

  {
    name: 'copy',
    patch: [{ op: 'copy', from: '/metadata/labels/a', path: '/metadata/labels/c' }],
    want: { labels: { a: '1', b: '2', c: '1' } },
  },
  {
    name: 'copy something absent',
    patch: [{ op: 'copy', from: '/metadata/labels/c', path: '/metadata/labels/d' }],
    want: { labels: { a: '1', b: '2', d: '' } },
  },
  {
    name: 'copy an item that is absent',
    patch: [{ op: 'copy', from: '/metadata/finalizers/7', path: '/metadata/labels/d' }],
    want: rejected,
  },
  {
    name: 'copy to something absent',
    patch: [{ op: 'copy', from: '/metadata/labels/a', path: '/nope/d' }],
    want: rejected,
  },

  {
    name: 'test',
    patch: [{ op: 'test', path: '/spec', value: { leaseDurationSeconds: 10, holderIdentity: 'h' } }],
    want: nothing,
  },
  {
    name: 'test an escaped path',
    patch: [{ op: 'test', path: '/metadata/annotations/x~1y', value: 'z' }],
    want: nothing,
  },
  {
    name: 'test of another value',
    patch: [{ op: 'test', path: '/spec/holderIdentity', value: 'i' }],
    want: rejected,
  },
  {
    name: 'test of another type',
    patch: [{ op: 'test', path: '/spec/leaseDurationSeconds', value: '10' }],
    want: rejected,
  },
  {
    name: 'test of another order',
    patch: [{ op: 'test', path: '/metadata/finalizers', value: ['e/b', 'e/a'] }],
    want: rejected,
  },
  { name: 'test of something absent', patch: [{ op: 'test', path: '/spec/x', value: 1 }], want: rejected },
  {
    name: 'test that something is absent',
    patch: [{ op: 'test', path: '/spec/x', value: null }],
    want: nothing,
  },
  {
    name: 'test that something is absent that is there',
    patch: [{ op: 'test', path: '/spec/holderIdentity', value: null }],
    want: rejected,
  },
  { name: 'test in something absent', patch: [{ op: 'test', path: '/nope/x', value: null }], want: rejected },
  { name: 'test of the root', patch: [{ op: 'test', path: '', value: {} }], want: rejected },
  {
    name: 'nothing is done where one operation cannot be',
    patch: [
      { op: 'remove', path: '/metadata/labels/a' },
      { op: 'test', path: '/metadata/labels/a', value: '1' },
    ],
    want: rejected,
  },
];

export const mergePatchCases: readonly PatchCase[] = [
  { name: 'null', patch: null, want: bad },
  {
    name: 'a list',
    patch: [],
    want: bad,
  },
  {
    name: 'a number',
    patch: 5,
    want: bad,
  },
  { name: 'nothing', patch: {}, want: nothing },
  { name: 'null for a struct', patch: { spec: null }, want: { spec: {} } },
  {
    name: 'null for a label',
    patch: { metadata: { labels: { a: null, c: '3' } } },
    want: { labels: { b: '2', c: '3' } },
  },
  { name: 'null for what is not there', patch: { spec: { x: null } }, want: nothing },
  {
    name: 'null for all',
    patch: { metadata: { labels: null, finalizers: null } },
    want: { labels: undefined, finalizers: undefined },
  },
  {
    name: 'a list replaces a list',
    patch: { metadata: { finalizers: ['e/c'] } },
    want: { finalizers: ['e/c'] },
  },
  {
    name: 'nulls in the objects of a list',
    patch: { metadata: { ownerReferences: [{ ...third, controller: null }] } },
    want: { owners: ['u3:three:undefined'] },
  },
  { name: 'fields that nobody knows', patch: { spec: { x: 1, HolderIdentity: 'i' } }, want: nothing },
];

export const strategicMergePatchCases: readonly PatchCase[] = [
  { name: 'null', patch: null, want: nothing },
  {
    name: 'a list',
    patch: [],
    want: bad,
  },
  { name: 'nothing', patch: {}, want: nothing },
  {
    name: 'fields and nulls',
    patch: { metadata: { labels: { a: null, c: '3' } }, spec: { holderIdentity: 'i' } },
    want: { labels: { b: '2', c: '3' }, spec: { holderIdentity: 'i', leaseDurationSeconds: 10 } },
  },
  {
    name: 'nulls in what is new',
    patch: { spec: { x: { y: null } }, metadata: { labels: null } },
    want: { labels: undefined },
  },

  {
    name: 'a finalizer',
    patch: { metadata: { finalizers: ['e/c'] } },
    want: { finalizers: ['e/c', 'e/a', 'e/b'] },
  },
  {
    name: 'finalizers that are there, or twice',
    patch: { metadata: { finalizers: ['e/b', 'e/c', 'e/c'] } },
    want: { finalizers: ['e/a', 'e/b', 'e/c'] },
  },
  { name: 'no finalizers', patch: { metadata: { finalizers: [] } }, want: nothing },
  {
    name: 'null for the finalizers',
    patch: { metadata: { finalizers: null } },
    want: { finalizers: undefined },
  },
  {
    name: 'a finalizer of another type',
    patch: { metadata: { finalizers: [null] } },
    want: broken,
  },
  {
    name: 'a finalizer that is a list',
    patch: { metadata: { finalizers: [['x']] } },
    want: broken,
  },

  {
    name: 'an owner',
    patch: { metadata: { ownerReferences: [third] } },
    want: { owners: ['u3:three:undefined', ...owners] },
  },
  {
    name: 'an owner that is there',
    patch: { metadata: { ownerReferences: [{ uid: 'u2', name: 'renamed', controller: null }] } },
    want: { owners: ['u1:one:undefined', 'u2:renamed:undefined'] },
  },
  {
    name: 'an owner without a uid',
    patch: { metadata: { ownerReferences: [{ name: 'renamed' }] } },
    want: broken,
  },
  {
    name: 'an owner that is a text',
    patch: { metadata: { ownerReferences: ['x'] } },
    want: broken,
  },

  {
    name: '$patch: delete in a list',
    patch: { metadata: { ownerReferences: [{ $patch: 'delete', uid: 'u1' }] } },
    want: { owners: ['u2:two:true'] },
  },
  {
    name: '$patch: delete without a key',
    patch: { metadata: { ownerReferences: [{ $patch: 'delete' }] } },
    want: broken,
  },
  {
    name: '$patch: replace in a list',
    patch: { metadata: { ownerReferences: [third, { $patch: 'replace' }, { $patch: 'delete', uid: 'u1' }] } },
    want: { owners: ['u3:three:undefined'] },
  },
  {
    name: '$patch: replace by nothing',
    patch: { metadata: { ownerReferences: [{ $patch: 'replace' }] } },
    want: { owners: undefined },
  },
  {
    name: '$patch: merge in a list',
    patch: { metadata: { ownerReferences: [{ $patch: 'merge', uid: 'u1' }] } },
    want: broken,
  },
  {
    name: '$patch that nobody knows, in a list',
    patch: { metadata: { ownerReferences: [{ $patch: 'frob', uid: 'u1' }] } },
    want: broken,
  },
  { name: '$patch: delete', patch: { spec: { $patch: 'delete' } }, want: { spec: {} } },
  {
    name: '$patch: replace',
    patch: {
      spec: { $patch: 'replace', holderIdentity: 'i' },
      metadata: { labels: { $patch: 'replace', c: '3' } },
    },
    want: { spec: { holderIdentity: 'i' }, labels: { c: '3' } },
  },
  {
    name: '$patch that nobody knows',
    patch: { spec: { $patch: 'merge', holderIdentity: 'i' } },
    want: broken,
  },
  {
    name: '$patch that is a number',
    patch: { spec: { $patch: 5 } },
    want: broken,
  },
  {
    name: '$patch that is null',
    patch: { spec: { $patch: null } },
    want: broken,
  },
  {
    name: '$patch that is an object',
    patch: { spec: { $patch: { a: 1 } } },
    want: broken,
  },
  { name: '$patch in what is new', patch: { metadata: { nope: { $patch: 'delete' } } }, want: nothing },

  {
    name: '$retainKeys that is no list',
    patch: { spec: { $retainKeys: 'x' } },
    want: bad,
  },
  {
    name: '$retainKeys that is null',
    patch: { spec: { $retainKeys: null } },
    want: bad,
  },

  {
    name: '$deleteFromPrimitiveList',
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['e/a', 'e/x'] } },
    want: { finalizers: ['e/b'] },
  },
  {
    name: '$deleteFromPrimitiveList of nothing',
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': [] } },
    want: nothing,
  },
  {
    name: '$deleteFromPrimitiveList that is no list',
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': 'e/a' } },
    want: nothing,
  },
  {
    name: '$deleteFromPrimitiveList that is null',
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': null } },
    want: { finalizers: undefined },
  },
  {
    name: '$deleteFromPrimitiveList of no list',
    patch: { metadata: { $deleteFromPrimitiveList: ['e/a'] } },
    want: bad,
  },
  {
    name: '$deleteFromPrimitiveList with more to its name',
    patch: { metadata: { '$deleteFromPrimitiveListX/finalizers': ['e/a'] } },
    want: bad,
  },
  {
    name: '$deleteFromPrimitiveList of what is not there',
    patch: { metadata: { '$deleteFromPrimitiveList/nope': ['e/a'] } },
    want: nothing,
  },
  {
    name: '$deleteFromPrimitiveList of labels',
    patch: { metadata: { '$deleteFromPrimitiveList/labels': ['a'] } },
    want: nothing,
  },
  {
    name: '$setElementOrder',
    patch: { metadata: { '$setElementOrder/finalizers': ['e/b', 'e/a'] } },
    want: { finalizers: ['e/b', 'e/a'] },
  },
  {
    name: '$setElementOrder with an addition',
    patch: { metadata: { '$setElementOrder/finalizers': ['e/b', 'e/c', 'e/a'], finalizers: ['e/c'] } },
    want: { finalizers: ['e/b', 'e/c', 'e/a'] },
  },
  {
    name: '$setElementOrder of a part',
    patch: { metadata: { '$setElementOrder/finalizers': ['e/b'], finalizers: ['e/b'] } },
    want: nothing,
  },
  {
    name: '$setElementOrder with a deletion',
    patch: {
      metadata: {
        '$setElementOrder/finalizers': ['e/b', 'e/c'],
        '$deleteFromPrimitiveList/finalizers': ['e/a'],
        finalizers: ['e/c'],
      },
    },
    want: { finalizers: ['e/b', 'e/c'] },
  },
  {
    name: '$setElementOrder of nothing',
    patch: { metadata: { '$setElementOrder/finalizers': [], finalizers: [] } },
    want: nothing,
  },
  {
    name: '$setElementOrder that is no list',
    patch: { metadata: { '$setElementOrder/finalizers': 'x' } },
    want: broken,
  },
  {
    name: '$setElementOrder of no list',
    patch: { metadata: { $setElementOrder: ['x'] } },
    want: bad,
  },
  {
    name: '$setElementOrder of labels',
    patch: { metadata: { '$setElementOrder/labels': ['x'] } },
    want: broken,
  },
  {
    name: '$setElementOrder of what nobody knows',
    patch: { spec: { '$setElementOrder/nope': ['x'] } },
    want: broken,
  },
  {
    name: '$setElementOrder of owners',
    patch: {
      metadata: {
        '$setElementOrder/ownerReferences': [{ uid: 'u3' }, { uid: 'u2' }, { uid: 'u1' }],
        ownerReferences: [third],
      },
    },
    want: { owners: ['u3:three:undefined', 'u2:two:true', 'u1:one:undefined'] },
  },
  {
    name: '$setElementOrder of owners with a deletion',
    patch: {
      metadata: {
        '$setElementOrder/ownerReferences': [{ uid: 'u2' }],
        ownerReferences: [{ $patch: 'delete', uid: 'u1' }],
      },
    },
    want: { owners: ['u2:two:true'] },
  },
  {
    name: '$setElementOrder of owners without a uid',
    patch: { metadata: { '$setElementOrder/ownerReferences': [{ name: 'x' }] } },
    want: broken,
  },
  {
    name: 'a number for a struct',
    patch: { spec: 5 },
    want: ofWrongType,
  },
  {
    name: 'a list for a struct',
    patch: { spec: [] },
    want: ofWrongType,
  },
  {
    name: 'a text for a map',
    patch: { metadata: { labels: 'x' } },
    want: ofWrongType,
  },
  {
    name: 'an object for a list',
    patch: { metadata: { finalizers: { a: 1 } } },
    want: ofWrongType,
  },
  {
    name: 'a whole number for a text',
    patch: { spec: { holderIdentity: 5 } },
    want: ofWrongType,
  },
  {
    name: 'a fraction for a text',
    patch: { spec: { holderIdentity: 5.5 } },
    want: ofWrongType,
  },
  {
    name: 'a whole number for a uid',
    patch: { metadata: { ownerReferences: [{ uid: 5 }] } },
    want: ofWrongType,
  },
  {
    name: 'a text for a truth value',
    patch: { metadata: { ownerReferences: [{ ...third, controller: 'x' }] } },
    want: ofWrongType,
  },
  {
    name: 'a text for a number',
    patch: { spec: { leaseDurationSeconds: 'x' } },
    want: ofWrongType,
  },
  {
    name: 'a fraction for a number',
    patch: { spec: { leaseDurationSeconds: 1.5 } },
    want: ofWrongType,
  },
  {
    name: 'no time',
    patch: { spec: { renewTime: 'x' } },
    want: ofWrongType,
  },
  {
    name: 'a number for a time',
    patch: { spec: { renewTime: 5 } },
    want: ofWrongType,
  },
];

/** What a Lease has of what patches change. */
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
