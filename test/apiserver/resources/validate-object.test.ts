import { describe, expect, test } from 'vitest';
import { validateObject } from '../../../src/apiserver/resources/validate-object.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import { definitionOf, linesOf, makeObject } from './make.ts';

const KEY =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL = `metadata.labels: Invalid value: "a b": ${KEY}`;
const UNKNOWN = 'Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified';

const leases = definitionOf('leases');
const candidates = definitionOf('leasecandidates');
const namespaces = definitionOf('namespaces', '');
const coreEvents = definitionOf('events', '');
const events = definitionOf('events', 'events.k8s.io');

const badLabel = { 'a b': '' };
const inDefault = { namespace: 'default', resourceVersion: '1' };

const makeLease = (metadata = {}) =>
  makeObject(
    'coordination.k8s.io/v1',
    'Lease',
    { spec: { leaseDurationSeconds: 0 } },
    { ...inDefault, ...metadata },
  );
const DURATION = 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0';

const makeEvent = (metadata = {}) =>
  makeObject('v1', 'Event', { involvedObject: { namespace: 'other' } }, { ...inDefault, ...metadata });
const INVOLVED = 'involvedObject.namespace: Invalid value: "other": does not match event.namespace';

const makeNamespace = (metadata = {}) =>
  makeObject('v1', 'Namespace', { spec: { finalizers: ['x'] } }, { resourceVersion: '1', ...metadata });

describe('of a new object is told', () => {
  test.each<[string, ReturnType<typeof definitionOf>, ApiObject, readonly string[]]>([
    [
      'once what is wrong with its metadata, and then the rest',
      leases,
      makeLease({ labels: badLabel }),
      [LABEL, DURATION],
    ],
    [
      'what its resource says of its name',
      candidates,
      makeObject('coordination.k8s.io/v1beta1', 'LeaseCandidate', { spec: {} }, { ...inDefault, name: '..' }),
      [
        'metadata.name: Invalid value: "..": must not be \'..\'',
        'spec.leaseName: Required value',
        'spec.binaryVersion: Required value',
        'spec.strategy: Required value',
      ],
    ],
    [
      'that a namespace is in no namespace',
      namespaces,
      makeNamespace({ namespace: 'n', finalizers: ['x'] }),
      [
        'metadata.namespace: Forbidden: not allowed on this type',
        `metadata.finalizers[0]: ${UNKNOWN}`,
        `spec.finalizers: ${UNKNOWN}`,
      ],
    ],
    [
      'of an Event of the core group, what is wrong with its metadata only if nothing else is',
      coreEvents,
      makeEvent({ labels: badLabel }),
      [INVOLVED],
    ],
    [
      'that else',
      coreEvents,
      { ...makeEvent({ labels: badLabel, name: '..' }), involvedObject: { namespace: 'default' } },
      ['metadata.name: Invalid value: "..": may not be \'..\'', LABEL],
    ],
    [
      'of an Event of events.k8s.io, what is wrong with its metadata in the middle',
      events,
      makeEvent({ labels: badLabel, finalizers: ['x'] }),
      [
        INVOLVED,
        LABEL,
        `metadata.finalizers[0]: ${UNKNOWN}`,
        'eventTime: Required value',
        'type: Invalid value: "": has invalid value: ',
      ],
    ],
  ])('%s', (_, definition, object, want) => {
    expect(linesOf(validateObject(definition, object))).toEqual(want);
  });
});

describe('of a changed object is told', () => {
  const change = { labels: badLabel, uid: 'other' };
  const UID = 'metadata.uid: Invalid value: "other": field is immutable';

  test.each<[string, ReturnType<typeof definitionOf>, ApiObject, ApiObject, readonly string[]]>([
    [
      'what all objects have in common, then the same of a Lease again, and the rest of it',
      leases,
      makeLease(change),
      makeLease(),
      [LABEL, UID, LABEL, UID, LABEL, DURATION],
    ],
    [
      'of a namespace, all that would be told of a new one, too',
      namespaces,
      makeNamespace({ ...change, finalizers: ['x'] }),
      makeNamespace(),
      [
        LABEL,
        UID,
        LABEL,
        LABEL,
        `metadata.finalizers[0]: ${UNKNOWN}`,
        `spec.finalizers: ${UNKNOWN}`,
        UID,
        LABEL,
        `metadata.finalizers[0]: ${UNKNOWN}`,
      ],
    ],
    [
      'of an Event of the core group, its metadata once',
      coreEvents,
      makeEvent(change),
      makeEvent(),
      [LABEL, UID, LABEL, INVOLVED],
    ],
    [
      'of one of events.k8s.io, its metadata in the middle again',
      events,
      makeEvent(change),
      makeEvent(),
      [LABEL, UID, LABEL, INVOLVED, UID, LABEL],
    ],
    [
      'nothing of a name that could not be given any more',
      leases,
      { ...makeLease({ name: 'A b' }), spec: {} },
      makeLease({ name: 'A b' }),
      [],
    ],
  ])('%s', (_, definition, object, old, want) => {
    expect(linesOf(validateObject(definition, object, old))).toEqual(want);
  });
});
