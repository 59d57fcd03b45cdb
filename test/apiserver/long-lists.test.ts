import { describe, expect, onTestFinished, test } from 'vitest';
import { answer } from '../../src/apiserver/operations/operations.ts';
import type { ResourceRequest } from '../../src/apiserver/operations/request.ts';
import { startStandIns } from '../../src/apiserver/stand-ins.ts';
import { ObjectStore } from '../../src/apiserver/storage/object-store.ts';
import { Slices } from '../../src/support/event-loop.ts';
import { systemClock as clock } from '../../src/support/system-clock.ts';
import { makeFront, resources } from './http/make-front.ts';
import { makeObject } from './storage/make-object.ts';

const COUNT = 3000;
const FULL = '/apis/coordination.k8s.io/v1/namespaces/full/leases';

/** A server with thousands of Leases in the namespace `full`. All requests use few connections. */
async function makeServer() {
  const store = new ObjectStore();
  const slices = new Slices(clock);
  const context = { store, clock, resources };
  const errors: unknown[] = [];
  for (const name of ['full', 'default']) {
    store.put('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  for (let index = 0; index < COUNT; index += 1) store.put('leases', lease(index));
  const onError = (error: unknown) => errors.push(error);
  const handle = (request: ResourceRequest) => slices.run(answer(context, request));
  const front = await makeFront({ clock, slices, handle, onError });
  const standIns = startStandIns({ store, clock, slices, resources, onError });
  onTestFinished(() => {
    standIns.stop();
    expect(errors).toEqual([]);
  });
  const open = (path: string, options: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${front.port}${path}`, {
      ...options,
      headers: { authorization: 'Bearer admin', ...options.headers },
    });
  return {
    store,
    open,
    async read(method: string, path: string, headers: Record<string, string> = {}) {
      const answer = await open(path, { method, headers });
      return { code: answer.status, text: await answer.text() };
    },
  };
}

function lease(index: number, value = 0) {
  return makeObject(`l${String(index).padStart(5, '0')}`, { namespace: 'full', labels: { a: 'b' }, value });
}

/** The first lines of a stream. */
async function firstLines({ body }: Response, count: number): Promise<readonly string[]> {
  const decoder = new TextDecoder();
  const lines: string[] = [];
  let rest = '';
  for await (const chunk of body ?? []) {
    const [end = '', ...begun] = `${rest}${decoder.decode(chunk as Uint8Array, { stream: true })}`
      .split('\n')
      .toReversed();
    rest = end;
    lines.push(...begun.toReversed());
    if (lines.length >= count) break;
  }
  return lines;
}

/** Repeats small requests while a large one runs, and returns their number. */
async function beside(large: Promise<unknown>, small: (turn: number) => Promise<unknown>): Promise<number> {
  let isDone = false;
  void large.finally(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns += 1) await small(turns);
  return turns;
}

const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const asMetadata = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };

describe('a list of thousands of objects', () => {
  test.each([
    { form: 'objects', headers: { 'accept-encoding': 'identity' } },
    { form: 'rows', headers: asTable },
    { form: 'metadata', headers: asMetadata },
    { form: 'compressed objects', headers: { 'accept-encoding': 'gzip' } },
  ])('shows one state, although other clients write before it is read: $form', async ({ headers }) => {
    const { store, open } = await makeServer();
    const { revision } = store;
    const answer = await open(FULL, { headers });
    // Only the part that fits into the buffers between server and client is written yet.
    for (let index = 0; index < COUNT; index += 1) store.put('leases', lease(index, 1));
    const list = (await answer.json()) as Shown;
    const objects = list.items ?? list.rows?.map(({ object }) => object) ?? [];
    expect(objects).toHaveLength(COUNT);
    expect(list.metadata.resourceVersion).toBe(String(revision));
    const newest = Math.max(...objects.map(({ metadata }) => Number(metadata.resourceVersion)));
    expect(newest).toBe(revision);
  });

  test('is paged in one state', async () => {
    const { store, read } = await makeServer();
    const first = JSON.parse((await read('GET', `${FULL}?limit=2500`)).text);
    expect(first.items).toHaveLength(2500);
    for (const index of [0, 2600, 2999]) store.put('leases', lease(index, 1));
    store.remove('leases', 'full/l02700');
    store.put('leases', makeObject('l02700-and-a-half', { namespace: 'full' }));
    const rest = JSON.parse(
      (await read('GET', `${FULL}?limit=2500&continue=${first.metadata.continue}`)).text,
    );
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const names = rest.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    expect(names).toEqual(Array.from({ length: 500 }, (_, index) => `l0${2500 + index}`));
    expect(JSON.stringify(rest)).not.toContain('"value":1');
  });

  test('costs the server nothing after its reader has disconnected', async () => {
    const { open, read } = await makeServer();
    const controller = new AbortController();
    await open(FULL, { signal: controller.signal });
    controller.abort();
    expect(JSON.parse((await read('GET', FULL)).text).items).toHaveLength(COUNT);
  });
});

test.each([
  { what: 'a collection', path: FULL },
  { what: 'a namespace', path: '/api/v1/namespaces/full' },
])(
  'while $what of thousands is deleted, other requests are answered and watchers keep up',
  async ({ path }) => {
    const { store, open, read } = await makeServer();
    const watching = await open(`${FULL}?watch=1&resourceVersion=${store.revision}`);
    const events = firstLines(watching, COUNT);
    const deleted = read('DELETE', path).then(() => events);
    expect(await beside(deleted, () => read('GET', '/api/v1/namespaces/default'))).toBeGreaterThan(2);
    const types = (await events).map((line) => JSON.parse(line).type);
    expect(types).toEqual(Array.from({ length: COUNT }, () => 'DELETED'));
  },
);

interface Shown {
  readonly metadata: { readonly resourceVersion: string };
  readonly items?: readonly Shown[];
  readonly rows?: readonly { readonly object: Shown }[];
}
