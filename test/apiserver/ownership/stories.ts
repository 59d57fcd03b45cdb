import { isJsonObject, type JsonObject } from '../../../src/support/json.ts';

/** A write of one object by a manager. */
export interface Step {
  readonly verb: 'create' | 'replace' | 'merge' | 'json' | 'strategic' | 'apply';
  readonly manager: string;
  readonly apiVersion: string;
  /**
   * The object or the patch. For an object, adds name, namespace, kind and apiVersion, and for `replace` the
   * resourceVersion.
   */
  readonly body: JsonObject | readonly JsonObject[];
  readonly force?: true;
}

/** The history of an object. */
export interface Story {
  readonly name: string;
  readonly kind: 'Lease' | 'LeaseCandidate' | 'Event';
  /** Default: a namespace of its own. */
  readonly namespace?: 'default';
  readonly steps: readonly Step[];
}

const LEASE = 'coordination.k8s.io/v1';
const NEW_CANDIDATE = 'coordination.k8s.io/v1beta1';
const OLD_CANDIDATE = 'coordination.k8s.io/v1alpha2';
const CORE = 'v1';

type Write = (manager: string, body: Step['body'], apiVersion?: string) => Step;

function write(verb: Step['verb']): Write {
  return (manager, body, apiVersion = LEASE) => ({ verb, manager, apiVersion, body });
}

const create = write('create');
const replace = write('replace');
const merge = write('merge');
const json = write('json');
const strategic = write('strategic');
const apply = write('apply');
const force: Write = (manager, body, apiVersion = LEASE) => ({
  ...apply(manager, body, apiVersion),
  force: true,
});

function lease(name: string, ...steps: Step[]): Story {
  return { name, kind: 'Lease', steps };
}

function candidate(name: string, ...steps: Step[]): Story {
  return { name, kind: 'LeaseCandidate', steps };
}

/** An Event in the namespace of its subject. */
function event(name: string, ...steps: Step[]): Story {
  return { name, kind: 'Event', namespace: 'default', steps };
}

const one = { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', uid: 'u1' };
const two = { apiVersion: 'v1', kind: 'ConfigMap', name: 'two', uid: 'u2', controller: true };
const held = { spec: { holderIdentity: 'a', leaseDurationSeconds: 10 } };
const everything = {
  metadata: {
    labels: { app: 'x', 'example.com/tier': 'y' },
    annotations: { note: 'z' },
    finalizers: ['example.com/one', 'example.com/two'],
    ownerReferences: [one, two],
  },
  spec: {
    holderIdentity: 'a',
    leaseDurationSeconds: 10,
    acquireTime: '2026-01-01T00:00:00.000001Z',
    renewTime: '2026-01-01T00:00:01.000001Z',
    leaseTransitions: 0,
    strategy: 'OldestEmulationVersion',
    preferredHolder: 'b',
  },
};
/** Renewed in the far future, so that the real server's own coordinator does not touch it. */
const standing = {
  spec: {
    leaseName: 'x',
    renewTime: '2099-01-01T00:00:01.000001Z',
    binaryVersion: '1.36.0',
    emulationVersion: '1.35.0',
    strategy: 'OldestEmulationVersion',
  },
};
const happening = {
  involvedObject: { kind: 'Lease', namespace: 'default', name: 'x' },
  reason: 'Elected',
  message: 'it was elected',
  source: { component: 'tester' },
  type: 'Normal',
  count: 1,
  firstTimestamp: '2026-01-01T00:00:00Z',
  lastTimestamp: '2026-01-01T00:00:00Z',
};

/** An entry of managedFields as clients send them. */
function entry(
  manager: string,
  operation: string,
  apiVersion: string,
  fieldsV1: JsonObject,
  more: JsonObject = {},
) {
  return {
    manager,
    operation,
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1,
    time: '2020-01-01T00:00:00Z',
    ...more,
  };
}

const manyUpdaters = Array.from({ length: 13 }, (_, index) =>
  merge(`updater-${index}`, { metadata: { labels: { [`l${index}`]: 'x' } } }),
);

/** testdata/stories.txt contains a real server's results for each of these. */
export const stories: readonly Story[] = [
  lease('an object with everything is created', create('maker', everything)),
  lease('an object with nothing is created', create('maker', {})),
  lease(
    'zero values count where they are kept',
    create('maker', { spec: { holderIdentity: '', leaseTransitions: 0 } }),
  ),
  lease(
    'another manager changes, adds and removes fields by PUT',
    create('maker', everything),
    replace('other', {
      metadata: { labels: { app: 'x', more: 'w' }, finalizers: ['example.com/two'] },
      spec: { holderIdentity: 'c', leaseDurationSeconds: 10 },
    }),
    replace('maker', held),
  ),
  lease(
    'a PUT that changes nothing',
    create('maker', everything),
    replace('other', everything),
    replace('maker', everything),
  ),
  lease(
    'the same manager goes on',
    create('maker', held),
    merge('maker', { spec: { renewTime: '2026-01-01T00:00:01.000001Z' } }),
    merge('maker', { spec: { renewTime: '2026-01-01T00:00:02.000001Z', holderIdentity: null } }),
  ),
  lease(
    'a merge patch removes the last label, and adds one again',
    create('maker', { metadata: { labels: { app: 'x' } }, ...held }),
    merge('other', { metadata: { labels: { app: null } } }),
    merge('other', { metadata: { labels: { app: 'y' } } }),
    merge('third', { metadata: { labels: null }, spec: null }),
  ),
  lease(
    'a JSON patch replaces what another has set',
    create('maker', everything),
    json('other', [
      { op: 'replace', path: '/spec/holderIdentity', value: 'c' },
      { op: 'remove', path: '/metadata/finalizers/0' },
      { op: 'add', path: '/metadata/annotations/second', value: 'w' },
    ]),
    json('third', [{ op: 'test', path: '/spec/holderIdentity', value: 'c' }]),
  ),
  lease(
    'a strategic merge patch merges lists',
    create('maker', everything),
    strategic('other', {
      metadata: {
        finalizers: ['example.com/three'],
        ownerReferences: [{ uid: 'u1', name: 'renamed' }],
      },
    }),
    strategic('third', {
      metadata: { ownerReferences: [{ $patch: 'delete', uid: 'u2' }] },
    }),
    strategic('fourth', {
      metadata: { '$setElementOrder/finalizers': ['example.com/two', 'example.com/one'] },
    }),
  ),
  lease(
    'an object is applied, the same again, more, and less',
    apply('applier', held),
    apply('applier', held),
    apply('applier', {
      metadata: { labels: { app: 'x' } },
      spec: { holderIdentity: 'a', leaseDurationSeconds: 15 },
    }),
    apply('applier', { spec: { holderIdentity: 'a' } }),
    apply('applier', {}),
  ),
  lease('an object with everything is applied', apply('applier', everything), apply('applier', held)),
  lease(
    'an apply conflicts with an update, and takes over by force',
    create('kubectl-client-side-apply', held),
    apply('applier', { spec: { holderIdentity: 'b' } }),
    force('applier', { spec: { holderIdentity: 'b' } }),
    apply('applier', { spec: { holderIdentity: 'c' } }),
  ),
  lease(
    'an apply conflicts with several managers in several fields',
    create('maker', { metadata: { labels: { app: 'x' } }, ...held }),
    merge('other', { metadata: { labels: { more: 'y' }, finalizers: ['example.com/one'] } }),
    apply('first', { metadata: { annotations: { note: 'z' } } }),
    apply('applier', {
      metadata: { labels: { app: '1', more: '2' }, annotations: { note: '3' } },
      spec: { holderIdentity: '4', leaseDurationSeconds: 5 },
    }),
    force('applier', {
      metadata: { labels: { app: '1', more: '2' }, annotations: { note: '3' } },
      spec: { holderIdentity: '4', leaseDurationSeconds: 5 },
    }),
  ),
  lease(
    'an apply of what is already there owns it without a time',
    create('maker', held),
    apply('applier', held),
    apply('applier', { spec: { holderIdentity: 'a' } }),
    merge('maker', { spec: { holderIdentity: 'b' } }),
  ),
  lease(
    'two appliers share a field, which goes when both have dropped it',
    apply('first', held),
    apply('second', held),
    apply('second', { spec: { holderIdentity: 'b' } }),
    apply('first', { spec: { leaseDurationSeconds: 10 } }),
    apply('second', { metadata: { labels: { app: 'x' } }, spec: { leaseDurationSeconds: 10 } }),
  ),
  lease(
    'an applier drops a field that an updater owns, too',
    create('maker', held),
    apply('applier', { metadata: { labels: { app: 'x' } }, ...held }),
    apply('applier', { metadata: { labels: { app: 'x' } } }),
    merge('maker', { spec: { holderIdentity: null } }),
  ),
  lease(
    'an applier also updates under the same name',
    create('same', held),
    apply('same', { spec: { holderIdentity: 'b' } }),
    force('same', { spec: { holderIdentity: 'b' } }),
    merge('same', { spec: { holderIdentity: 'c' } }),
    apply('same', { spec: { leaseTransitions: 1 } }),
  ),
  lease(
    'appliers of labels, annotations, finalizers and owners drop theirs',
    apply('first', {
      metadata: {
        labels: { app: 'x' },
        annotations: { note: 'z' },
        finalizers: ['example.com/one'],
        ownerReferences: [one],
      },
    }),
    apply('second', {
      metadata: {
        labels: { more: 'x' },
        annotations: { second: 'z' },
        finalizers: ['example.com/two'],
        ownerReferences: [two],
      },
    }),
    apply('first', {}),
    apply('second', {}),
  ),
  lease(
    'an owner reference is owned as one',
    apply('first', { metadata: { ownerReferences: [one] } }),
    apply('second', { metadata: { ownerReferences: [{ ...one, name: 'renamed' }] } }),
    force('second', { metadata: { ownerReferences: [{ ...one, name: 'renamed' }, two] } }),
    apply('first', { metadata: { ownerReferences: [two] } }),
  ),
  lease(
    'lists are merged in the order of the configuration',
    create('maker', {
      metadata: { finalizers: ['example.com/a', 'example.com/x', 'example.com/b', 'example.com/y'] },
    }),
    apply('applier', { metadata: { finalizers: ['example.com/b', 'example.com/new', 'example.com/a'] } }),
    apply('second', { metadata: { finalizers: ['example.com/y', 'example.com/last'] } }),
    apply('applier', { metadata: { finalizers: ['example.com/new'] } }),
  ),
  lease(
    'finalizers that are there twice',
    create('maker', { metadata: { finalizers: ['example.com/a', 'example.com/a', 'example.com/b'] } }),
    apply('applier', { metadata: { finalizers: ['example.com/a'] } }),
    merge('other', { metadata: { finalizers: ['example.com/b', 'example.com/b'] } }),
    merge('third', { metadata: { finalizers: ['example.com/b'] } }),
  ),
  lease(
    'null and empty values in a configuration',
    apply('first', { metadata: { labels: {}, annotations: null, finalizers: [] }, spec: {} }),
    apply('second', { spec: { holderIdentity: null, leaseTransitions: 0 } }),
    apply('third', {
      metadata: { labels: { app: null }, creationTimestamp: null },
      spec: { holderIdentity: '' },
    }),
    apply('second', { spec: { holderIdentity: null, leaseTransitions: null } }),
    apply('second', { spec: null }),
  ),
  lease(
    'the same time in another zone',
    create('maker', { spec: { renewTime: '2026-01-01T00:00:01.000001Z' } }),
    apply('applier', { spec: { renewTime: '2026-01-01T01:00:01.000001+01:00' } }),
    force('applier', { spec: { renewTime: '2026-01-01T01:00:01.000001+01:00' } }),
    apply('applier', { spec: { renewTime: '2026-01-01T02:00:01.000001+02:00' } }),
  ),
  lease(
    'an empty list of managedFields forgets them, until somebody applies',
    create('maker', held),
    merge('other', { metadata: { managedFields: [] } }),
    merge('other', { spec: { holderIdentity: 'b' } }),
    apply('applier', { spec: { holderIdentity: 'c' } }),
    apply('applier', { spec: { leaseDurationSeconds: 10 } }),
    merge('other', { spec: { holderIdentity: 'd' } }),
  ),
  lease(
    'an empty entry of managedFields forgets them, too',
    create('maker', { metadata: { managedFields: [{}] }, ...held }),
    replace('other', { metadata: { managedFields: [{}] }, ...held }),
    apply('kubectl', held),
  ),
  lease(
    'managedFields that are not valid are as if they had not been sent',
    create('maker', held),
    merge('other', {
      metadata: { managedFields: [entry('x', 'Frob', LEASE, {})] },
      spec: { holderIdentity: 'b' },
    }),
    merge('other', {
      metadata: { managedFields: [entry('x', 'Update', '', {})] },
      spec: { holderIdentity: 'c' },
    }),
    merge('other', {
      metadata: { managedFields: [entry('x', 'Update', LEASE, {}, { fieldsType: 'FieldsV2' })] },
      spec: { holderIdentity: 'd' },
    }),
    merge('other', {
      metadata: { managedFields: [entry('x', 'Update', LEASE, { 'f:spec': 5 })] },
      spec: { holderIdentity: 'e' },
    }),
    merge('other', {
      metadata: { managedFields: [entry('x', 'Update', LEASE, { spec: {} })] },
      spec: { holderIdentity: 'f' },
    }),
  ),
  lease(
    'managedFields that clients write',
    create('maker', { metadata: { labels: { app: 'x' }, ownerReferences: [one] }, ...held }),
    merge('other', {
      metadata: {
        managedFields: [
          entry('written', 'Update', LEASE, {
            'f:spec': { '.': {}, 'f:leaseDurationSeconds': {}, 'f:holderIdentity': {}, 'f:nowhere': {} },
            'f:metadata': {
              'f:ownerReferences': { 'k:{ "uid" : "u1" }': { 'f:name': {} } },
              'f:labels': { 'f:app': null, 'x:unknown': {} },
              'f:name': {},
            },
          }),
          entry(
            'with-subresource',
            'Update',
            LEASE,
            { 'f:spec': { 'f:holderIdentity': {} } },
            { subresource: 'status' },
          ),
          entry('applied', 'Apply', LEASE, { 'f:spec': { 'f:holderIdentity': {} } }),
          entry('empty', 'Update', LEASE, {}),
        ],
      },
    }),
    apply('applier', { spec: { holderIdentity: 'b', leaseDurationSeconds: 11 } }),
    force('applier', { spec: { holderIdentity: 'b', leaseDurationSeconds: 11 } }),
  ),
  lease(
    'entries of versions that nobody serves are dropped at the next write',
    create('maker', {
      metadata: {
        managedFields: [
          entry('old', 'Update', 'coordination.k8s.io/v9', { 'f:spec': { 'f:holderIdentity': {} } }),
          entry('elsewhere', 'Apply', 'apps/v1', { 'f:spec': { 'f:holderIdentity': {} } }),
        ],
      },
      ...held,
    }),
    merge('other', { spec: { leaseDurationSeconds: 11 } }),
  ),
  lease(
    'an odd uid and an odd manager',
    create('a "quoted" <manager>', { metadata: { ownerReferences: [{ ...one, uid: 'a-b"c' }] } }),
    apply('applier', { metadata: { ownerReferences: [{ ...one, uid: 'a-b"c', name: 'renamed' }] } }),
  ),
  lease(
    'a generated name is owned like any other field',
    apply('applier', { metadata: { generateName: 'x' } }),
    apply('applier', {}),
  ),
  lease('old updates are merged when there are too many', create('maker', held), ...manyUpdaters),
  candidate(
    'a candidate is written through two versions',
    create('maker', standing, NEW_CANDIDATE),
    merge('maker', { spec: { renewTime: '2099-01-01T00:00:02.000001Z' } }, OLD_CANDIDATE),
    merge('other', { spec: { emulationVersion: '1.36.0' } }, OLD_CANDIDATE),
    merge('maker', { spec: { emulationVersion: '1.34.0' } }, NEW_CANDIDATE),
    merge('third', { spec: { renewTime: null } }, NEW_CANDIDATE),
  ),
  candidate(
    'a candidate is applied through two versions',
    create('maker', standing, OLD_CANDIDATE),
    apply(
      'applier',
      { metadata: { labels: { app: 'x', more: 'y' } }, spec: { emulationVersion: '1.34.0' } },
      NEW_CANDIDATE,
    ),
    force(
      'applier',
      { metadata: { labels: { app: 'x', more: 'y' } }, spec: { emulationVersion: '1.34.0' } },
      NEW_CANDIDATE,
    ),
    apply(
      'applier',
      { metadata: { labels: { app: 'x' } }, spec: { emulationVersion: '1.34.0' } },
      OLD_CANDIDATE,
    ),
    apply('second', { metadata: { labels: { app: 'z' } } }, NEW_CANDIDATE),
    apply('second', { metadata: { annotations: { note: 'z' } } }, NEW_CANDIDATE),
    apply(
      'applier',
      { metadata: { annotations: { note: 'z' } }, spec: { emulationVersion: '1.34.0' } },
      NEW_CANDIDATE,
    ),
  ),
  event(
    'an event is created, counted on and applied',
    create('maker', happening, CORE),
    merge('maker', { count: 2, lastTimestamp: '2026-01-01T00:00:09Z' }, CORE),
    merge('other', { involvedObject: { uid: 'u' }, source: { host: 'h' } }, CORE),
    apply('applier', { involvedObject: { kind: 'Lease', namespace: 'default', name: 'y' } }, CORE),
    force(
      'applier',
      { involvedObject: { kind: 'Lease', namespace: 'default', name: 'x' }, series: {} },
      CORE,
    ),
  ),
];

/** Returns the object of a step with the fields that the story omits. */
export function objectOf(body: Step['body'], type: { apiVersion: string; kind: string }): JsonObject {
  if (!isJsonObject(body)) throw new Error('a list is no object');
  const metadata = isJsonObject(body['metadata']) ? body['metadata'] : {};
  return { ...type, ...body, metadata: { name: 'x', ...metadata } };
}

/** Returns the object as sent by a client that has just read the live one. */
export function atVersionOf(live: JsonObject, object: JsonObject): JsonObject {
  const { resourceVersion } = isJsonObject(live['metadata']) ? live['metadata'] : {};
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  return { ...object, metadata: { ...metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
}
