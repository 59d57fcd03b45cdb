import { expect } from 'vitest';
import { failure, withoutProse } from '../expected.ts';
import type { Suite } from '../suite.ts';

/** Requests for forgotten revisions. This topic runs last, because it makes the server forget for all tests. */
export function describeHistory({ test }: Suite): void {
  test('is forgotten, and each error says how to continue', async ({ leases, request, target }) => {
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await leases.make({ metadata: { name } });
    const first = await leases.list({ query: { limit: 1 } });
    const { resourceVersion, continue: token = '' } = first.json.metadata;
    await leases.delete('b');
    await leases.make({ metadata: { name: 'e' } });
    const after = await leases.revision();
    await target.compact();

    const expired = await leases.list({ query: { limit: 1, continue: token } });
    expect({ code: expired.code, body: withoutProse(expired.json) }).toEqual({
      code: 410,
      body: {
        ...failure(410, 'Expired'),
        metadata: { continue: expect.any(String) },
      },
    });
    const inconsistent = expired.json.metadata.continue ?? '';
    expect(inconsistent).not.toBe(token);
    const rest: string[] = [];
    for (let next: string | undefined = inconsistent; next !== undefined; ) {
      const { code, json } = await leases.list({ query: { limit: 2, continue: next } });
      expect(code).toBe(200);
      rest.push(...json.items.map(({ metadata }) => metadata.name));
      next = json.metadata.continue;
    }
    expect(rest).toEqual(['c', 'd', 'e']);

    const exact = await leases.list({ query: { resourceVersion, resourceVersionMatch: 'Exact' } });
    expect({ code: exact.code, body: withoutProse(exact.json) }).toEqual({
      code: 410,
      body: failure(410, 'Expired'),
    });

    const watch = await leases.watch({ query: { resourceVersion } });
    const events = await watch.end();
    expect(events.map(({ type, object }) => ({ type, object: withoutProse(object) }))).toEqual([
      { type: 'ERROR', object: failure(410, 'Expired') },
    ]);
    // Any value except 0 and false requests a watch.
    for (const value of ['1', 'true', 'yes', '']) {
      const { json } = await request(
        'GET',
        `${leases.path}?watch=${value}&resourceVersion=${resourceVersion}`,
      );
      expect([value, json['type']]).toEqual([value, 'ERROR']);
    }
    // After a new list, the client can continue.
    const latest = await leases.list({ query: { resourceVersion: after } });
    expect(latest.json.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c', 'd', 'e']);
    const current = await leases.watch({
      query: { resourceVersion: latest.json.metadata.resourceVersion },
    });
    const made = await leases.make({ metadata: { name: 'f' } });
    expect(await current.next()).toEqual({ type: 'ADDED', object: made });
    current.close();
  });
}
