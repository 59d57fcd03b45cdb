import { expect } from 'vitest';
import {
  aRevision,
  badRequest,
  expectAnswer,
  forbidden,
  invalidOptions,
  leaseItem,
  notSupported,
  revisionTooNew,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Body } from '../target.ts';
import type { Asked, Collection } from '../workspace.ts';

const names = (list: Body) => list.items.map(({ metadata }) => metadata.name);
const token = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url');
const version = 'meta.k8s.io/v1';

async function makeFive(leases: Collection): Promise<readonly Body[]> {
  const made: Body[] = [];
  // Not in alphabetical order.
  for (const name of ['c', 'a', 'e', 'b', 'd']) made.push(await leases.make({ metadata: { name } }));
  return made;
}

export function describeList({ test, minor }: Suite): void {
  test('returns the objects in the order of their names', async ({ namespace, leases }) => {
    await makeFive(leases);
    const answer = await leases.list();
    expectAnswer(answer, 200, {
      kind: 'LeaseList',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { resourceVersion: aRevision },
      items: ['a', 'b', 'c', 'd', 'e'].map((name) => leaseItem(namespace, name)),
    });
    const latest = Math.max(...answer.json.items.map(({ metadata }) => Number(metadata.resourceVersion)));
    expect(Number(answer.json.metadata.resourceVersion)).toBeGreaterThanOrEqual(latest);
  });

  test('returns an empty list if there are no objects', async ({ leases, request }) => {
    const empty = {
      kind: 'LeaseList',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { resourceVersion: aRevision },
      items: [],
    };
    expectAnswer(await leases.list(), 200, empty);
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases';
    expectAnswer(await request('GET', path), 200, empty);
  });

  test('lists all namespaces by namespace and name', async ({ namespace, leases, request }) => {
    await makeFive(leases);
    const { json } = await request('GET', '/apis/coordination.k8s.io/v1/leases');
    const keys = json.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(keys.filter((key) => key.startsWith(`${namespace}/`))).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${namespace}/${name}`),
    );
    const namespacesInOrder = [...new Set(json.items.map(({ metadata }) => metadata.namespace))];
    expect(namespacesInOrder).toEqual([...namespacesInOrder].sort());
  });

  test('returns pages that make up the list at its start', async ({ leases }) => {
    const made = await makeFive(leases);
    const first = await leases.list({ query: { limit: 2 } });
    expect({ code: first.code, names: names(first.json) }).toEqual({ code: 200, names: ['a', 'b'] });
    const { metadata } = first.json;
    expect(metadata).toEqual({
      resourceVersion: aRevision,
      continue: expect.any(String),
      remainingItemCount: 3,
    });
    await leases.delete('c');
    await leases.make({ metadata: { name: 'bb' } });
    await leases.mergePatch('d', { spec: { leaseTransitions: 1 } });
    const second = await leases.list({ query: { limit: 2, continue: metadata.continue ?? '' } });
    expect(second.json.metadata).toEqual({
      resourceVersion: metadata.resourceVersion,
      continue: expect.any(String),
      remainingItemCount: 1,
    });
    expect(second.json.items.map((item) => item.metadata.resourceVersion)).toEqual(
      [made[0], made[4]].map((each) => each?.metadata.resourceVersion),
    );
    const last = await leases.list({ query: { limit: 2, continue: second.json.metadata.continue ?? '' } });
    expectAnswer(last, 200, {
      kind: 'LeaseList',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { resourceVersion: metadata.resourceVersion },
      items: [expect.objectContaining({ metadata: made[2]?.metadata })],
    });
  });

  test('does not need a limit to continue', async ({ leases }) => {
    await makeFive(leases);
    const { json } = await leases.list({ query: { limit: 2 } });
    const rest = await leases.list({ query: { continue: json.metadata.continue ?? '' } });
    expect(names(rest.json)).toEqual(['c', 'd', 'e']);
    expect(rest.json.metadata).toEqual({ resourceVersion: json.metadata.resourceVersion });
  });

  test('has no further page if all objects fit', async ({ leases }) => {
    await makeFive(leases);
    for (const limit of [5, 6, 0, -1]) {
      const { json } = await leases.list({ query: { limit } });
      expect({ limit, names: names(json), metadata: json.metadata }).toEqual({
        limit,
        names: ['a', 'b', 'c', 'd', 'e'],
        metadata: { resourceVersion: aRevision },
      });
    }
  });

  test('continues over all namespaces', async ({ namespace, leases, request }) => {
    await makeFive(leases);
    const path = '/apis/coordination.k8s.io/v1/leases';
    const seen: string[] = [];
    let page = (await request('GET', path, { query: { limit: 50 } })).json;
    for (;;) {
      seen.push(...page.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
      const { continue: next } = page.metadata;
      if (next === undefined) break;
      page = (await request('GET', path, { query: { limit: 50, continue: next } })).json;
    }
    expect(seen.filter((key) => key.startsWith(`${namespace}/`))).toHaveLength(5);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('counts the remaining objects only without selectors', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', labels: { x: 'y' } } });
    await leases.make({ metadata: { name: 'b' } });
    await leases.make({ metadata: { name: 'c', labels: { x: 'y' } } });
    const first = await leases.list({ query: { limit: 1, labelSelector: 'x' } });
    expect(names(first.json)).toEqual(['a']);
    expect(first.json.metadata).toEqual({ resourceVersion: aRevision, continue: expect.any(String) });
    const query = { limit: 1, labelSelector: 'x', continue: first.json.metadata.continue ?? '' };
    expect(names((await leases.list({ query })).json)).toEqual(['c']);
  });

  const wrongTokens: readonly string[] = [
    'abc',
    '!!!',
    token({ v: 'meta.k8s.io/v2', rv: 5, start: 'x' }),
    token({ v: version, rv: 0, start: 'x' }),
    token({ v: version, rv: 5, start: '' }),
    token({ v: version, rv: 5, start: '../x' }),
  ];
  for (const text of wrongTokens) {
    test(`refuses to continue from ${text}`, async ({ leases }) => {
      expectAnswer(await leases.list({ query: { limit: 2, continue: text } }), 400, badRequest());
    });
  }

  const noMatch = forbidden('resourceVersionMatch');
  const unknownMatch = notSupported('resourceVersionMatch');
  const wrong: readonly (readonly [NonNullable<Asked['query']>, ReturnType<typeof forbidden>[]])[] = [
    [{ resourceVersionMatch: 'Exact' }, [noMatch]],
    [{ resourceVersion: '', resourceVersionMatch: 'NotOlderThan' }, [noMatch]],
    [{ resourceVersionMatch: 'Other' }, [noMatch, unknownMatch]],
    [{ resourceVersion: '1', resourceVersionMatch: 'Other' }, [unknownMatch]],
    [{ resourceVersion: '0', resourceVersionMatch: 'Exact' }, [forbidden('resourceVersionMatch')]],
    [{ continue: 'abc', resourceVersionMatch: 'Exact' }, [noMatch, forbidden('resourceVersionMatch')]],
    [{ sendInitialEvents: 'true' }, [forbidden('sendInitialEvents')]],
  ];
  for (const [query, causes] of wrong) {
    test(`refuses ${JSON.stringify(query)}`, async ({ leases }) => {
      expectAnswer(await leases.list({ query }), 422, invalidOptions('ListOptions', causes));
    });
  }

  for (const name of ['limit', 'timeoutSeconds']) {
    test(`refuses a ${name} that is not a number`, async ({ leases }) => {
      expectAnswer(await leases.list({ query: { [name]: 'x' } }), 400, badRequest());
    });
  }

  test('refuses an invalid resourceVersion', async ({ leases }) => {
    const answer = await leases.list({ query: { resourceVersion: 'abc' } });
    // Up to 1.32, the server answers with an internal error.
    expect(answer.code).toBe(minor >= 33 ? 400 : 500);
  });

  test('cannot wait for a resourceVersion in the far future', async ({ leases }) => {
    const resourceVersion = '987654321';
    for (const more of [{}, { resourceVersionMatch: 'NotOlderThan' }]) {
      expectAnswer(await leases.list({ query: { resourceVersion, ...more } }), 504, revisionTooNew);
    }
  });

  test('returns the latest state, or the state at a resourceVersion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const { resourceVersion } = (await leases.make({ metadata: { name: 'b' } })).metadata;
    await leases.make({ metadata: { name: 'c' } });
    await leases.delete('a');
    const listed = async (query: NonNullable<Asked['query']>) => names((await leases.list({ query })).json);
    const latest = ['b', 'c'];
    // A server may answer a request for "0" with a slightly old state from memory, but not after it has returned the
    // latest state.
    expect(await listed({})).toEqual(latest);
    expect(await listed({ resourceVersion: '' })).toEqual(latest);
    expect(await listed({ resourceVersion: '0' })).toEqual(latest);
    expect(await listed({ resourceVersion })).toEqual(latest);
    expect(await listed({ resourceVersion, resourceVersionMatch: 'NotOlderThan' })).toEqual(latest);
    expect(await listed({ resourceVersion, resourceVersionMatch: 'Exact' })).toEqual(['a', 'b']);
    expect(await listed({ resourceVersion, limit: 5 })).toEqual(['a', 'b']);
    expect(await listed({ resourceVersion, limit: 1 })).toEqual(['a']);
  });

  test('continues at the requested resourceVersion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const { resourceVersion } = (await leases.make({ metadata: { name: 'b' } })).metadata;
    await leases.delete('b');
    const query = { resourceVersion, resourceVersionMatch: 'Exact', limit: 1 };
    const first = (await leases.list({ query })).json;
    expect(first.metadata).toMatchObject({ resourceVersion, remainingItemCount: 1 });
    const second = (await leases.list({ query: { continue: first.metadata.continue ?? '' } })).json;
    expect({ names: names(second), revision: second.metadata.resourceVersion }).toEqual({
      names: ['b'],
      revision: resourceVersion,
    });
  });
}
