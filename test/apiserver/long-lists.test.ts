import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, startApiServer } from '../../src/apiserver/api-server.ts';
import { systemClock } from '../../src/support/system-clock.ts';

const COUNT = 3000;
const TO_DELETE = 600;
const NAMESPACE = '/api/v1/namespaces';
const ROOT = '/apis/coordination.k8s.io/v1/namespaces';
const LEASES = `${ROOT}/default/leases`;
let server: ApiServer;
let errors: unknown[];

/** Connections are used again, and compressed answers are unpacked. */
async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { code: answer.status, text: await answer.text() };
}

async function fill(leases: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    const names = Array.from({ length: 50 }, (_, index) => `l${String(from + index).padStart(5, '0')}`);
    await Promise.all(names.map((name) => send('POST', leases, { metadata: { name, labels: { a: 'b' } } })));
  }
}

/** The first lines of a stream. */
async function lines(path: string, count: number): Promise<readonly string[]> {
  const { body } = await fetch(`${server.url}${path}`, { headers: { authorization: 'Bearer admin' } });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.split('\n').length > count) break;
  }
  return text.trim().split('\n');
}

/** Does small things for as long as something large goes on, and tells how many. */
async function beside(large: Promise<unknown>, small: (turn: number) => Promise<unknown>): Promise<number> {
  let isDone = false;
  void large.finally(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns += 1) await small(turns);
  return turns;
}

beforeAll(async () => {
  errors = [];
  server = await startApiServer({
    clock: systemClock,
    listen: { host: '127.0.0.1', port: 0 },
    tokens: [{ token: 'admin', user: { name: 'admin', groups: [] }, rules: 'admin' }],
    onError: (error) => errors.push(error),
  });
  await fill(LEASES, COUNT);
}, 60_000);

afterAll(async () => {
  await server.close();
  expect(errors).toEqual([]);
});

describe('a list of thousands of objects', () => {
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const metadata = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io' };
  test.each([
    { form: 'objects', headers: { 'accept-encoding': 'identity' } },
    { form: 'rows', headers: table },
    { form: 'metadata', headers: metadata },
    { form: 'compressed objects', headers: { 'accept-encoding': 'gzip' } },
  ])('is of one state, though others write meanwhile: $form', async ({ headers }) => {
    const large = send('GET', LEASES, undefined, headers);
    await beside(large, (turn) =>
      send('PUT', `${LEASES}/l02999`, { metadata: { name: 'l02999' }, spec: { leaseTransitions: turn } }),
    );
    const { code, text } = await large;
    expect(code).toBe(200);
    const list = JSON.parse(text);
    const objects = list.items ?? list.rows.map(({ object }: { object: unknown }) => object);
    expect(objects).toHaveLength(COUNT);
    const newest = Math.max(...objects.map((each: Shown) => Number(each.metadata.resourceVersion)));
    expect(newest).toBeLessThanOrEqual(Number(list.metadata.resourceVersion));
  });

  test('is answered in pages of one state', async () => {
    const first = JSON.parse((await send('GET', `${LEASES}?limit=2500`)).text);
    expect(first.items).toHaveLength(2500);
    await send('PATCH', `${LEASES}/l02999`, { metadata: { labels: { a: 'c' } } }, mergePatch);
    const rest = JSON.parse(
      (await send('GET', `${LEASES}?limit=2500&continue=${first.metadata.continue}`)).text,
    );
    expect(rest.items).toHaveLength(500);
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(rest.items.at(-1).metadata.labels?.a).not.toBe('c');
  });

  test('goes on for those who read it when somebody else leaves in the middle', async () => {
    const leaving = send('GET', LEASES);
    const other = await new Promise<number>((resolve, reject) => {
      const controller = new AbortController();
      fetch(`${server.url}${LEASES}`, {
        headers: { authorization: 'Bearer admin' },
        signal: controller.signal,
      }).then(({ status }) => {
        controller.abort();
        resolve(status);
      }, reject);
    });
    expect(other).toBe(200);
    expect(JSON.parse((await leaving).text).items).toHaveLength(COUNT);
  });
});

test('others are answered while a selector of half a megabyte is read', async () => {
  const selector = Array.from({ length: 60_000 }, (_, index) => `a!=v${index}`).join();
  const large = send('GET', `${LEASES}?limit=1&labelSelector=${selector}`);
  const answered = await beside(large, () => send('GET', `${LEASES}/l00000`));
  expect((await large).code).toBe(200);
  expect(answered).toBeGreaterThan(2);
});

describe('a deletion of thousands of objects', () => {
  test.each([
    { what: 'a collection', path: (name: string) => `${ROOT}/${name}/leases` },
    { what: 'a namespace', path: (name: string) => `${NAMESPACE}/${name}` },
  ])(
    'lets others in, and watchers keep up with it: $what',
    async ({ path }) => {
      const name = `full-${crypto.randomUUID()}`;
      await send('POST', NAMESPACE, { metadata: { name } });
      await fill(`${ROOT}/${name}/leases`, TO_DELETE);
      const { resourceVersion } = JSON.parse(
        (await send('GET', `${ROOT}/${name}/leases?limit=1`)).text,
      ).metadata;
      const watch = `${ROOT}/${name}/leases?watch=1&resourceVersion=${resourceVersion}&timeoutSeconds=60`;
      const watching = lines(watch, TO_DELETE);
      const large = send('DELETE', path(name)).then(async () => {
        let left = 1;
        while (left > 0) left = JSON.parse((await send('GET', `${ROOT}/${name}/leases`)).text).items.length;
      });
      expect(await beside(large, () => send('GET', `${LEASES}/l00000`))).toBeGreaterThan(2);
      const events = await watching;
      expect(events.filter((line) => line.startsWith('{"type":"DELETED"'))).toHaveLength(TO_DELETE);
    },
    60_000,
  );
});

const mergePatch = { 'content-type': 'application/merge-patch+json' };
interface Shown {
  readonly metadata: { readonly resourceVersion: string };
}
