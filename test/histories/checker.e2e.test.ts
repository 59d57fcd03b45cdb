import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildChecker, checkHistory } from './checker.ts';
import type { Content, HistoryRecord, ListRecord, Operation, WatchRecord } from './records.ts';

let directory: string;
let checker: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'histories-checker-'));
  checker = await buildChecker(directory);
});

afterAll(() => rm(directory, { recursive: true }));

const KEY = { resource: 'leases', namespace: 'north', name: 'one' };

/** The state that the write of this number made, at the revision ten times that. */
function state(write: number, changed: Partial<Content> = {}): Content {
  return {
    uid: 'uid-1',
    resourceVersion: 10 * write,
    mark: `m${write}`,
    left: `l${write}`,
    right: `r${write}`,
    digest: `d${write}`,
    ...changed,
  };
}

type Asked = Partial<Operation>;

/** From one second to the next. */
function operation(second: number, asked: Asked): Operation {
  return {
    kind: 'operation',
    client: 0,
    call: second * 1e9,
    return: second * 1e9 + 5e8,
    verb: 'get',
    status: 200,
    outcome: 'ok',
    ...KEY,
    ...asked,
  };
}

/** What a write asks for, that makes {@link state}. */
function wish(write: number): Asked {
  return { mark: `m${write}`, left: `l${write}`, right: `r${write}` };
}

const create = (second: number, write: number, changed: Partial<Content> = {}) =>
  operation(second, { verb: 'create', status: 201, ...wish(write), seen: state(write, changed) });

const put = (second: number, write: number, after: number, asked: Asked = {}) =>
  operation(second, {
    verb: 'put',
    ...wish(write),
    givenResourceVersion: 10 * after,
    seen: state(write),
    ...asked,
  });

const get = (second: number, seen: Content, asked: Asked = {}) => operation(second, { seen, ...asked });

const refused = (second: number, status: number, asked: Asked) => {
  const { seen: _, ...others } = operation(second, { ...asked, status, outcome: 'refused' });
  return others;
};

const unanswered = (second: number, asked: Asked) => {
  const { seen: _, ...others } = operation(second, { ...asked, status: 0, outcome: 'unknown', return: 0 });
  return others;
};

const remove = (second: number, asked: Asked = {}) =>
  operation(second, { verb: 'delete', seen: { uid: 'uid-1' }, ...asked });

function list(second: number, resourceVersion: number, ...items: readonly Content[]): ListRecord {
  const { resource, ...place } = KEY;
  return {
    kind: 'list',
    call: second * 1e9,
    return: second * 1e9 + 5e8,
    resource,
    namespace: '',
    resourceVersion,
    past: false,
    items: items.map((each) => ({ ...place, ...each })),
  };
}

function watch(second: number, event: WatchRecord['event'], seen: Content | number): WatchRecord {
  const shown = typeof seen === 'number' ? undefined : seen;
  return {
    kind: 'watch',
    watcher: 'w',
    at: second * 1e9,
    event,
    ...(shown ? KEY : { resource: 'leases', namespace: '', name: '' }),
    resourceVersion: shown?.resourceVersion ?? (seen as number),
    ...(shown && { seen: shown }),
  };
}

async function problemsOf(records: readonly HistoryRecord[]): Promise<readonly string[]> {
  const file = join(directory, 'history.jsonl');
  await writeFile(file, records.map((each) => `${JSON.stringify(each)}\n`).join(''));
  return (await checkHistory(checker, file, directory)).problems;
}

describe('a history in which all is well', () => {
  const histories: Readonly<Record<string, readonly HistoryRecord[]>> = {
    'of one client': [
      refused(1, 404, {}),
      create(2, 1),
      get(3, state(1)),
      put(4, 2, 1),
      refused(5, 409, { verb: 'put', ...wish(3), givenResourceVersion: 10 }),
      refused(6, 409, { verb: 'delete', givenUid: 'uid-0' }),
      operation(7, { verb: 'patch', mark: 'm4', left: 'l4', seen: state(4, { right: 'r2' }) }),
      remove(8, { givenUid: 'uid-1', givenResourceVersion: 40 }),
      refused(9, 404, {}),
      create(10, 6, { uid: 'uid-2' }),
    ],
    'of two clients at the same time': [
      create(1, 1),
      put(2, 2, 1),
      get(2, state(1), { client: 1 }),
      refused(2, 409, { verb: 'put', ...wish(3), givenResourceVersion: 10, client: 2 }),
    ],
    'with writes without an answer, of which one was carried out later, and one never': [
      create(1, 1),
      unanswered(2, { verb: 'put', ...wish(2), givenResourceVersion: 10 }),
      unanswered(3, { verb: 'patch', mark: 'm3', left: 'l3' }),
      get(4, state(1)),
      get(5, state(2)),
    ],
    'with a write without an answer that only the next one shows': [
      create(1, 1),
      unanswered(2, { verb: 'patch', mark: 'm2', left: 'l2' }),
      operation(3, { verb: 'patch', mark: 'm3', right: 'r3', seen: state(3, { left: 'l2' }) }),
    ],
    'with a deletion without an answer': [
      create(1, 1),
      unanswered(2, { verb: 'delete' }),
      get(3, state(1)),
      refused(4, 404, {}),
    ],
    'with watches': [
      create(1, 1),
      list(2, 10, state(1)),
      watch(3, 'LISTED', 10),
      watch(3, 'RESUMED', 10),
      put(4, 2, 1),
      watch(5, 'MODIFIED', state(2)),
      watch(6, 'BOOKMARK', 25),
      watch(7, 'RESUMED', 25),
      remove(8),
      watch(9, 'DELETED', state(2, { resourceVersion: 30 })),
      create(10, 4, { uid: 'uid-2' }),
      watch(11, 'EXPIRED', 30),
      list(12, 40, state(4, { uid: 'uid-2' })),
      watch(13, 'LISTED', 40),
    ],
  };

  test.each(Object.entries(histories))('%s', async (_, records) => {
    expect(await problemsOf(records)).toEqual([]);
  });
});

describe('a history is rejected', () => {
  const watched = [create(1, 1), watch(2, 'LISTED', 10), put(3, 2, 1), put(4, 3, 2)];
  const histories: Readonly<
    Record<string, readonly [problem: string, ...history: readonly HistoryRecord[]]>
  > = {
    'with two writes on one revision: a lost update': [
      'not linearizable',
      create(1, 1),
      put(2, 2, 1),
      put(2, 3, 1, { client: 1 }),
    ],
    'with a patch that undoes another one': [
      'not linearizable',
      create(1, 1),
      operation(2, { verb: 'patch', mark: 'm2', left: 'l2', seen: state(2, { right: 'r1' }) }),
      operation(3, { verb: 'patch', mark: 'm3', right: 'r3', seen: state(3, { left: 'l1' }) }),
    ],
    'with a stale read': ['not linearizable', create(1, 1), put(2, 2, 1), get(3, state(1))],
    'with a read that goes back, while the write is under way': [
      'not linearizable',
      create(1, 1),
      put(2, 2, 1, { return: 9e9 }),
      get(3, state(2)),
      get(4, state(1)),
    ],
    'with an acknowledged write that is lost after a restart': [
      'not linearizable',
      create(1, 1),
      put(2, 2, 1),
      { kind: 'note', at: 3e9, text: 'the server is killed' },
      get(4, state(1)),
    ],
    'with an acknowledged creation that is lost after a restart': [
      'not linearizable',
      create(1, 1),
      { kind: 'note', at: 2e9, text: 'the server is killed' },
      refused(3, 404, {}),
    ],
    'with a write without an answer that was seen, and then never happened': [
      'not linearizable',
      create(1, 1),
      unanswered(2, { verb: 'put', ...wish(2), givenResourceVersion: 10 }),
      get(3, state(2)),
      get(4, state(1)),
    ],
    'with a deleted object that comes back': ['not linearizable', create(1, 1), remove(2), get(3, state(1))],
    'with a write that was refused though its precondition was met': [
      'not linearizable',
      create(1, 1),
      refused(2, 409, { verb: 'put', ...wish(2), givenResourceVersion: 10, givenUid: 'uid-1' }),
    ],
    'with a deletion whose uid was another': [
      'not linearizable',
      create(1, 1),
      remove(2, { givenUid: 'uid-0' }),
    ],
    'with a deletion whose resourceVersion was another': [
      'not linearizable',
      create(1, 1),
      remove(2, { givenResourceVersion: 9 }),
    ],
    'with an answer that shows another state': [
      'not linearizable',
      create(1, 1),
      put(2, 2, 1, { seen: state(2, { left: 'l1' }) }),
    ],
    'with a state that no client wrote': ['nobody wrote it', create(1, 1), get(2, state(7))],
    'with a refused write that took effect': [
      'a refused write took effect',
      create(1, 1),
      refused(2, 409, { verb: 'put', ...wish(2), givenResourceVersion: 5 }),
      get(3, state(2)),
    ],
    'with a write that took effect twice': [
      'one write took effect twice',
      create(1, 1),
      unanswered(2, { verb: 'patch', mark: 'm2', left: 'l2' }),
      get(3, state(2, { right: 'r1' })),
      get(4, state(2, { right: 'r1', resourceVersion: 30 })),
    ],
    'with a revision that is given twice, after a restart': [
      'a revision that was there before',
      create(1, 3),
      create(2, 2, { uid: 'uid-2' }),
    ],
    'with two states of one revision': [
      'two states of one revision',
      create(1, 1),
      get(2, state(1, { digest: 'other' })),
    ],
    'with a stale list': ['a stale list', create(1, 1), put(2, 2, 1), list(3, 10, state(1))],
    'with a list that lacks an object': ['an object missing from a list', create(1, 1), list(2, 15)],
    'with a list that shows an old object': [
      'an old object in a list',
      create(1, 1),
      put(2, 2, 1),
      list(3, 20, state(1)),
    ],
    'with a list that shows a deleted object': [
      'a deleted object in a list',
      create(1, 1),
      watch(2, 'LISTED', 10),
      remove(3),
      watch(4, 'DELETED', state(1, { resourceVersion: 20 })),
      list(5, 20, state(1)),
    ],
    'with a list that shows what is newer than it': [
      'a list from several revisions',
      create(1, 1),
      put(2, 2, 1),
      list(2, 15, state(2)),
    ],
    'with a lost event': ['a lost event', ...watched, watch(5, 'MODIFIED', state(3))],
    'with an event that is lost while a watch is resumed': [
      'a lost event',
      ...watched,
      watch(5, 'RESUMED', 10),
      watch(6, 'MODIFIED', state(3)),
    ],
    'with a bookmark that comes before an event': ['a lost event', ...watched, watch(5, 'BOOKMARK', 30)],
    'with a lost event of a deletion': [
      'a lost event',
      create(1, 1),
      watch(2, 'LISTED', 10),
      remove(3),
      create(4, 3, { uid: 'uid-2' }),
      watch(5, 'ADDED', state(3, { uid: 'uid-2' })),
    ],
    'with an event twice': [
      'an event twice',
      ...watched,
      watch(5, 'MODIFIED', state(2)),
      watch(6, 'MODIFIED', state(2)),
    ],
    'with an event twice, of which one comes after the watch is resumed': [
      'an event twice',
      ...watched,
      watch(5, 'MODIFIED', state(2)),
      watch(6, 'RESUMED', 20),
      watch(7, 'MODIFIED', state(2)),
    ],
    'with events out of order': [
      'events out of order',
      ...watched,
      watch(5, 'MODIFIED', state(3)),
      watch(6, 'MODIFIED', state(2)),
    ],
    'with a bookmark that goes back': [
      'a bookmark goes back',
      create(1, 1),
      watch(2, 'LISTED', 10),
      watch(3, 'BOOKMARK', 5),
    ],
    'with an event that shows another state': [
      'two states of one revision',
      ...watched,
      watch(5, 'MODIFIED', state(2, { right: 'other' })),
    ],
    'with an event of what no client wrote': [
      'nobody wrote it',
      ...watched,
      watch(5, 'MODIFIED', state(2)),
      watch(6, 'MODIFIED', state(9, { resourceVersion: 25 })),
    ],
    'with an event of the wrong type': [
      'an event of the wrong type',
      ...watched,
      watch(5, 'ADDED', state(2)),
    ],
    'with a deletion that shows another state than the last': [
      'a deletion shows another state than the last',
      ...watched,
      watch(5, 'MODIFIED', state(2)),
      watch(6, 'MODIFIED', state(3)),
      remove(7),
      watch(8, 'DELETED', state(2, { resourceVersion: 40 })),
    ],
  };

  test.each(Object.entries(histories))('%s', async (_, [problem, ...records]) => {
    const problems = await problemsOf(records);
    expect(problems.map((each) => each.split(':')[0])).toContain(problem);
  });
});
