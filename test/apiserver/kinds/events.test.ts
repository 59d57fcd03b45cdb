import { describe, expect, test } from 'vitest';
import { events } from '../../../src/apiserver/kinds/events.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { linesOf, makeObject, versionOf } from './make.ts';

const core = versionOf(events, 'v1');

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

/** As its new recorder writes them. */
const newFields = {
  eventTime: '2024-01-01T00:00:00.000000Z',
  reportingComponent: 'example.com/me',
  reportingInstance: 'me-1',
  action: 'Elect',
  reason: 'LeaderElection',
  involvedObject: lease,
  message: 'me became leader',
  type: 'Normal',
};

const makeOld = (changes: JsonObject = {}, namespace = 'default') =>
  core.toHub(makeObject('v1', 'Event', { ...oldFields, ...changes }, { namespace, resourceVersion: '1' }));
const makeNew = (changes: JsonObject = {}, namespace = 'default') =>
  core.toHub(makeObject('v1', 'Event', { ...newFields, ...changes }, { namespace, resourceVersion: '1' }));

describe('an Event', () => {
  const check = (hub: ApiObject) => linesOf(events.validate(hub));

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
    ['of the new kind may be in another', makeNew({ involvedObject: { namespace: 'other' } }), []],
    [
      'of the new kind may be about no namespace, from kube-system',
      makeNew({ involvedObject: {} }, 'kube-system'),
      [],
    ],
    [
      'of the new kind may not from elsewhere',
      makeNew({ involvedObject: {} }, 'other'),
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
        message: 'x'.repeat(1025),
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
});
