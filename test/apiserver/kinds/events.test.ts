import { describe, expect, test } from 'vitest';
import { coreEvents, events } from '../../../src/apiserver/kinds/events.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { linesOf, makeObject, versionOf } from './make.ts';

const core = versionOf(coreEvents, 'v1');
const v1 = versionOf(events, 'v1');

const lease = { kind: 'Lease', namespace: 'default', name: 'l', apiVersion: 'coordination.k8s.io/v1' };
const KEY = "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";

/** As client-go's old recorder writes them. */
const oldFields = {
  involvedObject: lease,
  reason: 'LeaderElection',
  message: ' me became leader\n',
  source: { component: 'me', host: 'node' },
  firstTimestamp: '2024-01-01T00:00:00Z',
  lastTimestamp: '2024-01-01T00:01:00Z',
  count: 3,
  type: 'Normal',
};

/** As its new one writes them. */
const newFields = {
  eventTime: '2024-01-01T00:00:00.000000Z',
  reportingController: 'example.com/me',
  reportingInstance: 'me-1',
  action: 'Elect',
  reason: 'LeaderElection',
  regarding: lease,
  note: 'me became leader',
  type: 'Normal',
};

const makeOld = (changes: JsonObject = {}, namespace = 'default') =>
  core.toHub(makeObject('v1', 'Event', { ...oldFields, ...changes }, { namespace, resourceVersion: '1' }));
const makeNew = (changes: JsonObject = {}, namespace = 'default') =>
  v1.toHub(
    makeObject(
      'events.k8s.io/v1',
      'Event',
      { ...newFields, ...changes },
      { namespace, resourceVersion: '1' },
    ),
  );

describe('the two forms of an Event', () => {
  test('what was written in the core group is shown in events.k8s.io under its names', () => {
    expect(v1.fromHub(makeOld())).toStrictEqual({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name: 'x', namespace: 'default', resourceVersion: '1' },
      eventTime: null,
      reason: 'LeaderElection',
      regarding: lease,
      note: ' me became leader\n',
      type: 'Normal',
      deprecatedSource: { component: 'me', host: 'node' },
      deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2024-01-01T00:01:00Z',
      deprecatedCount: 3,
    });
  });

  test('what was written in events.k8s.io is shown in the core group under its names', () => {
    const series = { count: 2, lastObservedTime: '2024-01-01T00:00:05.000000Z' };
    const hub = makeNew({ series, related: { kind: 'Pod' } });
    expect(core.fromHub(hub)).toBe(hub);
    expect(hub).toStrictEqual({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'x', namespace: 'default', resourceVersion: '1' },
      involvedObject: lease,
      reason: 'LeaderElection',
      message: 'me became leader',
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      type: 'Normal',
      eventTime: '2024-01-01T00:00:00.000000Z',
      series,
      action: 'Elect',
      related: { kind: 'Pod' },
      reportingComponent: 'example.com/me',
      reportingInstance: 'me-1',
    });
  });

  test.each([
    ['the core group', makeOld()],
    ['events.k8s.io', makeNew()],
    [
      'events.k8s.io, with a count that one form shows and the other does not',
      makeNew({ series: { count: 0 } }),
    ],
  ])('nothing is lost on the way there and back: one of %s', (_, hub) => {
    expect(v1.toHub(v1.fromHub(hub))).toStrictEqual(hub);
  });
});

describe('an Event of the core group', () => {
  const check = (hub: ApiObject) => linesOf(coreEvents.validate(hub));

  test.each([
    ['of the old kind is good', makeOld(), []],
    ['of the new kind is good', makeNew(), []],
    ['may be about an object in no namespace, from default', makeOld({ involvedObject: {} }), []],
    [
      'may not from elsewhere',
      makeOld({ involvedObject: {} }, 'other'),
      ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ],
    [
      'is in the namespace of what it is about',
      makeOld({ involvedObject: { namespace: 'other' } }),
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    ['of the new kind may be in another', makeNew({ regarding: { namespace: 'other' } }), []],
    [
      'of the new kind may be about no namespace, from kube-system',
      makeNew({ regarding: {} }, 'kube-system'),
      [],
    ],
    [
      'of the new kind may not from elsewhere',
      makeNew({ regarding: {} }, 'other'),
      ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ],
    [
      'of the new kind has to be whole',
      makeOld({ eventTime: '2024-01-01T00:00:00.000000Z', reason: '' }),
      [
        'reportingComponent: Required value',
        `reportingComponent: Invalid value: "": ${KEY}`,
        'reportingInstance: Required value',
        'action: Required value',
        'reason: Required value',
      ],
    ],
    [
      'of the new kind has words of some length only',
      makeNew({
        reportingInstance: 'é'.repeat(65),
        action: 'x'.repeat(129),
        reason: 'x'.repeat(129),
        note: 'x'.repeat(1025),
      }),
      [
        'reportingInstance: Invalid value: "": can have at most 128 characters',
        'action: Invalid value: "": can have at most 128 characters',
        'reason: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
  ])('%s', (_, hub, want) => {
    expect(check(hub)).toEqual(want);
  });

  test('may change in anything', () => {
    expect(coreEvents.validate(makeOld({ reason: 'Other' }), makeOld())).toEqual([]);
  });
});

describe('an Event of events.k8s.io', () => {
  const check = (hub: ApiObject, old?: ApiObject) => linesOf(events.validate(hub, old));

  test.each([
    ['is good', makeNew(), []],
    ['has to be of the new kind', makeNew({ eventTime: null }), ['eventTime: Required value']],
    ['is Normal or a Warning', makeNew({ type: 'Foo' }), ['type: Invalid value: "": has invalid value: Foo']],
    [
      'stands for a series only of two',
      makeNew({ series: { count: 1, lastObservedTime: null } }),
      ['series.count: Invalid value: "": should be at least 2', 'series.lastObservedTime: Required value'],
    ],
    [
      'has nothing of the old kind',
      makeNew({
        deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
        deprecatedLastTimestamp: '2024-01-01T00:00:00Z',
        deprecatedCount: 1,
        deprecatedSource: { host: 'h' },
      }),
      ['firstTimestamp', 'lastTimestamp', 'count', 'source'].map(
        (field) => `${field}: Invalid value: "": needs to be unset`,
      ),
    ],
    [
      'names who reports it as it is called there',
      makeNew({ reportingController: '' }),
      ['reportingController: Required value', `reportingController: Invalid value: "": ${KEY}`],
    ],
  ])('%s', (_, hub, want) => {
    expect(check(hub)).toEqual(want);
  });

  test('has finalizers that are known', () => {
    const hub = makeNew();
    expect(check({ ...hub, metadata: { ...hub.metadata, finalizers: ['kubernetes', 'x'] } })).toEqual([
      'metadata.finalizers[1]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  test('may only change in its series', () => {
    const series = { count: 5, lastObservedTime: '2024-01-01T00:00:00.000000Z' };
    expect(check(makeNew({ series }), makeNew())).toEqual([]);
    expect(check(makeNew(), makeNew({ series }))).toEqual([]);
    expect(check(makeNew({ series: { count: 1 } }), makeNew({ series: { count: 1 } }))).toEqual([]);
    expect(check(makeNew({ series: { ...series, count: 1 } }), makeNew({ series }))).toEqual([
      'series.count: Invalid value: "": should be at least 2',
    ]);
  });

  test('may change in nothing else', () => {
    const changed = makeNew({
      regarding: { ...lease, name: 'y' },
      reason: 'X',
      note: 'X',
      deprecatedSource: { component: 'x' },
      deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2024-01-01T00:00:00Z',
      deprecatedCount: 5,
      type: 'Warning',
      eventTime: '2024-01-01T00:00:00.000001Z',
      action: 'B',
      related: lease,
      reportingController: 'c/d',
      reportingInstance: 'o',
    });
    const problems = events.validate(changed, makeNew());
    expect(problems.map(({ field }) => field)).toEqual([
      'involvedObject',
      'reason',
      'message',
      'source',
      'firstTimestamp',
      'lastTimestamp',
      'count',
      'type',
      'eventTime',
      'action',
      'related',
      'reportingController',
      'reportingInstance',
    ]);
    for (const { reason, message } of problems) {
      expect([reason, message]).toEqual(['FieldValueInvalid', expect.stringContaining('is immutable')]);
    }
  });

  test('loses a related object no more than it gains one', () => {
    expect(check(makeNew(), makeNew({ related: lease }))).toEqual([
      'related: Invalid value: null: field is immutable',
    ]);
  });
});

test('Events of either group are the same objects; each has rules of its own for names', () => {
  expect(coreEvents.storage).toBe(events.storage);
  expect(coreEvents.nameProblems('A b')).toEqual([]);
  expect(events.nameProblems('A b')).toHaveLength(1);
  for (const definition of [coreEvents, events]) {
    expect(definition).toMatchObject({
      createsOnUpdate: true,
      updatesUnconditionally: true,
      shortNames: ['ev'],
    });
  }
});

describe('Events can be selected', () => {
  test('by what they are about, under the names of the core group', () => {
    expect(core.selectableFields(makeOld())).toEqual({
      'metadata.name': 'x',
      'metadata.namespace': 'default',
      'involvedObject.kind': 'Lease',
      'involvedObject.namespace': 'default',
      'involvedObject.name': 'l',
      'involvedObject.uid': '',
      'involvedObject.apiVersion': 'coordination.k8s.io/v1',
      'involvedObject.resourceVersion': '',
      'involvedObject.fieldPath': '',
      reason: 'LeaderElection',
      reportingComponent: '',
      source: 'me',
      type: 'Normal',
    });
    expect(core.selectableFields(makeNew())).toMatchObject({ source: 'example.com/me' });
  });

  test('and under those of events.k8s.io', () => {
    expect(v1.selectableFields(v1.fromHub(makeNew()))).toEqual({
      'metadata.name': 'x',
      'metadata.namespace': 'default',
      'regarding.kind': 'Lease',
      'regarding.namespace': 'default',
      'regarding.name': 'l',
      'regarding.uid': '',
      'regarding.apiVersion': 'coordination.k8s.io/v1',
      'regarding.resourceVersion': '',
      'regarding.fieldPath': '',
      reason: 'LeaderElection',
      reportingController: 'example.com/me',
      type: 'Normal',
    });
  });
});

describe('Events are printed', () => {
  const now = Date.UTC(2024, 0, 1, 0, 5) / 1000;
  const cells = (version: typeof core, hub: ApiObject) =>
    version.columns.map(({ cell }) => cell(version.fromHub(hub), now));

  test('with their name last', () => {
    expect(core.columns.map(({ name, priority, isName }) => [name, priority, isName ?? false])).toEqual([
      ['Last Seen', 0, false],
      ['Type', 0, false],
      ['Reason', 0, false],
      ['Object', 0, false],
      ['Subobject', 1, false],
      ['Source', 1, false],
      ['Message', 0, false],
      ['First Seen', 1, false],
      ['Count', 1, false],
      ['Name', 1, true],
    ]);
  });

  test.each([
    ['the core group', core],
    ['events.k8s.io', v1],
  ])('the same in %s', (_, version) => {
    expect(cells(version, makeOld())).toEqual([
      '4m',
      'Normal',
      'LeaderElection',
      'lease/l',
      '',
      'me, node',
      'me became leader',
      '5m',
      3,
      'x',
    ]);
    expect(cells(version, makeNew({ regarding: { kind: 'Pod', fieldPath: 'spec' } }))).toEqual([
      '5m',
      'Normal',
      'LeaderElection',
      'pod',
      'spec',
      'example.com/me, me-1',
      'me became leader',
      '5m',
      1,
      'x',
    ]);
  });

  test('with what is told of a series', () => {
    const series = { count: 7, lastObservedTime: '2024-01-01T00:04:58.000000Z' };
    const printed = cells(core, makeNew({ series }));
    expect([printed[0], printed[8]]).toEqual(['2s', 7]);
  });

  test('with what is known of times and sources', () => {
    const printed = cells(core, makeOld({ firstTimestamp: null, lastTimestamp: null, source: {}, count: 0 }));
    expect([printed[0], printed[5], printed[7], printed[8]]).toEqual(['<unknown>', '', '<unknown>', 1]);
  });
});
