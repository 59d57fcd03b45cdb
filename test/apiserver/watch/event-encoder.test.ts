import { expect, test } from 'vitest';
import { revisionTooOld } from '../../../src/apiserver/storage/history.ts';
import type { StoredObject, StoreEvent } from '../../../src/apiserver/storage/stored-objects.ts';
import { createEventEncoder, encodeError, SharedLines } from '../../../src/apiserver/watch/event-encoder.ts';
import { makeObject } from '../storage/make-object.ts';

function makeStored(revision: number, value: string): StoredObject {
  const object = makeObject('a', { value });
  return {
    key: 'a',
    revision,
    characters: 100,
    object: { ...object, metadata: { ...object.metadata, resourceVersion: `${revision}` } },
  };
}

function makeEvent(): StoreEvent {
  return { type: 'MODIFIED', stored: makeStored(3, 'new'), previous: makeStored(2, 'old') };
}

/** An encoder, with the number of its encodings. */
function makeEncoder(cacheKey: string) {
  let count = 0;
  const encoder = createEventEncoder(
    cacheKey,
    (object) => {
      count++;
      return { view: cacheKey, value: object['spec'], metadata: object.metadata };
    },
    { kind: 'Lease', spec: 'nothing' },
  );
  return { encoder, count: () => count };
}

test('an event is encoded once for each view and type, for any number of readers', () => {
  const event = makeEvent();
  const [first, again, other] = [makeEncoder('one'), makeEncoder('one'), makeEncoder('two')];
  const line = first.encoder.event(event, 'MODIFIED');
  expect(line.toString()).toBe(
    '{"type":"MODIFIED","object":{"view":"one","value":{"value":"new"},"metadata":{"name":"a","resourceVersion":"3"}}}\n',
  );
  expect(first.encoder.event(event, 'MODIFIED')).toBe(line);
  expect(again.encoder.event(event, 'MODIFIED')).toBe(line);
  expect(other.encoder.event(event, 'MODIFIED').toString()).toContain('"view":"two"');
  expect(first.encoder.event(event, 'ADDED').toString()).toContain('{"type":"ADDED"');
  expect([first.count(), again.count(), other.count()]).toEqual([2, 0, 1]);
  expect(first.encoder.event(makeEvent(), 'MODIFIED')).not.toBe(line);
});

test('the latest lines are cached, up to a limit', () => {
  const lines = new SharedLines(1000);
  const events = Array.from({ length: 30 }, makeEvent);
  let count = 0;
  const encoder = createEventEncoder(
    'one',
    (object) => {
      count += 1;
      return { value: object['spec'] };
    },
    {},
    lines,
  );
  const encodeAll = () => events.map((event) => encoder.event(event, 'MODIFIED'));
  const total = encodeAll().reduce((bytes, line) => bytes + line.length, 0);
  expect(total).toBeGreaterThan(1000);
  expect(count).toBe(30);
  expect(lines.bytes).toBeLessThanOrEqual(1000);
  const last = events.at(-1) ?? makeEvent();
  encoder.event(last, 'MODIFIED');
  expect(count).toBe(30);
  encodeAll();
  expect(count).toBe(60);
  expect(lines.bytes).toBeLessThanOrEqual(1000);
});

test('a line above the limit is written, but not cached', () => {
  const lines = new SharedLines(10);
  const encoder = createEventEncoder('one', () => ({ value: 'x'.repeat(20) }), {}, lines);
  expect(encoder.event(makeEvent(), 'MODIFIED').toString()).toContain('xxx');
  expect(lines.bytes).toBe(0);
});

test('a deleted object has its previous state, with the resourceVersion of the event', () => {
  const line = makeEncoder('one').encoder.event(makeEvent(), 'DELETED').toString();
  expect(JSON.parse(line)).toEqual({
    type: 'DELETED',
    object: { view: 'one', value: { value: 'old' }, metadata: { name: 'a', resourceVersion: '3' } },
  });
});

test('an initial object is an ADDED event', () => {
  const line = makeEncoder('one').encoder.initial(makeStored(5, 'x')).toString();
  expect(JSON.parse(line)).toMatchObject({ type: 'ADDED', object: { metadata: { resourceVersion: '5' } } });
});

test('a bookmark is an empty object with a resourceVersion, in the view of the watch', () => {
  const { encoder } = makeEncoder('one');
  expect(encoder.bookmark(7, false).toString()).toBe(
    '{"type":"BOOKMARK","object":{"view":"one","value":"nothing","metadata":{"resourceVersion":"7"}}}\n',
  );
  expect(JSON.parse(encoder.bookmark(7, true).toString()).object.metadata).toEqual({
    resourceVersion: '7',
    annotations: { 'k8s.io/initial-events-end': 'true' },
  });
});

test('an error is a Status in every view', () => {
  expect(encodeError(revisionTooOld(1, 9).status).toString()).toBe(
    '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",' +
      '"message":"too old resource version: 1 (9)","reason":"Expired","code":410}}\n',
  );
});
