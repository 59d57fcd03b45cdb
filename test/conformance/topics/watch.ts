import { expect } from 'vitest';
import { expectAnswer, failure, forbidden, invalidOptions, notSupported } from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { WatchedEvent, WatchedStream } from '../watched-stream.ts';
import type { Asked, Collection } from '../workspace.ts';

const isAbout = (name: string) => (event: WatchedEvent) => event.object.metadata.name === name;

/** The values that distinguish events in the stories below. */
const told = ({ type, object }: WatchedEvent) =>
  `${type} ${object.metadata.name} ${JSON.stringify(object.metadata.labels ?? {})}`;

/** Some changes of each type, up to the creation of `end`. Returns the objects in the answers. */
async function tellStory(leases: Collection): Promise<void> {
  await leases.make({ metadata: { name: 'x', finalizers: ['a/b'] } });
  await leases.mergePatch('x', { metadata: { labels: { a: '1' } } });
  await leases.mergePatch('x', { spec: { leaseTransitions: 1 } });
  await leases.mergePatch('x', {});
  await leases.mergePatch('x', { metadata: { labels: { a: '2' } } });
  await leases.mergePatch('x', { metadata: { labels: { a: '1' } } }, { query: { dryRun: 'All' } });
  await leases.mergePatch('x', { metadata: { labels: { a: '1' } } });
  await leases.make({ metadata: { name: 'y', labels: { a: '1' } } });
  await leases.delete('y');
  await leases.delete('x');
  await leases.delete('x');
  await leases.mergePatch('x', { metadata: { finalizers: null } });
  await leases.make({ metadata: { name: 'end', labels: { a: '1' } } });
}

/** If bookmarks are allowed, more of them may come at any time. */
async function nextChange(watch: WatchedStream): Promise<WatchedEvent> {
  const event = await watch.next();
  return event.type === 'BOOKMARK' ? nextChange(watch) : event;
}

/**
 * A server may answer a request for "0" with a slightly old state from memory, but not after it has returned the
 * latest state.
 */
const untilCached = (leases: Collection) => leases.revision();

export function describeWatch({ test, minor }: Suite): void {
  // 1.32 had streaming lists on, 1.33 off, 1.34 and later on.
  const streamsLists = minor === 32 || minor >= 34;

  test('reports every change in order, but no dry runs and no writes without a change', async ({
    leases,
  }) => {
    const resourceVersion = await leases.revision();
    const live = await leases.watch({ query: { resourceVersion } });
    await tellStory(leases);
    const events = await live.until(isAbout('end'));
    live.close();
    expect(events.map(told)).toEqual([
      'ADDED x {}',
      'MODIFIED x {"a":"1"}',
      'MODIFIED x {"a":"1"}',
      'MODIFIED x {"a":"2"}',
      'MODIFIED x {"a":"1"}',
      'ADDED y {"a":"1"}',
      'DELETED y {"a":"1"}',
      'MODIFIED x {"a":"1"}',
      'DELETED x {"a":"1"}',
      'ADDED end {"a":"1"}',
    ]);
    const revisions = events.map(({ object }) => BigInt(object.metadata.resourceVersion));
    expect(revisions).toEqual([...revisions].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(revisions).size).toBe(revisions.length);

    const replayed = await leases.watch({ query: { resourceVersion } });
    expect(await replayed.until(isAbout('end'))).toEqual(events);
    replayed.close();
    const later = await leases.watch({ query: { resourceVersion: String(revisions[4]) } });
    expect(await later.until(isAbout('end'))).toEqual(events.slice(5));
    later.close();
  });

  test('returns objects as in the answers to writes', async ({ leases }) => {
    const watch = await leases.watch({ query: { resourceVersion: await leases.revision() } });
    const made = await leases.make({
      metadata: { name: 'a', labels: { x: 'y' } },
      spec: { holderIdentity: 'h' },
    });
    const patched = (await leases.mergePatch('a', { spec: { leaseTransitions: 1 } })).json;
    await leases.delete('a');
    expect(await watch.next()).toEqual({ type: 'ADDED', object: made });
    expect(await watch.next()).toEqual({ type: 'MODIFIED', object: patched });
    const { type, object } = await watch.next();
    watch.close();
    expect({ type, object }).toEqual({
      type: 'DELETED',
      object: {
        ...patched,
        metadata: { ...patched.metadata, resourceVersion: object.metadata.resourceVersion },
      },
    });
    expect(BigInt(object.metadata.resourceVersion)).toBeGreaterThan(BigInt(patched.metadata.resourceVersion));
  });

  test('returns the last state with its finalizers if they delayed a deletion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', finalizers: ['a/b'] } });
    const watch = await leases.watch({ query: { resourceVersion: await leases.revision() } });
    const deleting = (await leases.delete('a')).json;
    await leases.mergePatch('a', { metadata: { finalizers: null } });
    expect(await watch.next()).toEqual({ type: 'MODIFIED', object: deleting });
    const deleted = await watch.next();
    watch.close();
    expect({ type: deleted.type, finalizers: deleted.object.metadata.finalizers }).toEqual({
      type: 'DELETED',
      finalizers: ['a/b'],
    });
  });

  test('reports objects that enter and leave a selection', async ({ leases }) => {
    const resourceVersion = await leases.revision();
    const watch = await leases.watch({ query: { resourceVersion, labelSelector: 'a=1' } });
    await tellStory(leases);
    const events = await watch.until(isAbout('end'));
    watch.close();
    const all = await leases.watch({ query: { resourceVersion } });
    const everything = await all.until(isAbout('end'));
    all.close();
    // An object that leaves the selection is sent in its previous state, with the revision of the change.
    expect(events.map(told)).toEqual([
      'ADDED x {"a":"1"}',
      'MODIFIED x {"a":"1"}',
      'DELETED x {"a":"1"}',
      'ADDED x {"a":"1"}',
      'ADDED y {"a":"1"}',
      'DELETED y {"a":"1"}',
      'MODIFIED x {"a":"1"}',
      'DELETED x {"a":"1"}',
      'ADDED end {"a":"1"}',
    ]);
    expect(events.map(({ object }) => object.metadata.resourceVersion)).toEqual(
      everything.slice(1).map(({ object }) => object.metadata.resourceVersion),
    );
  });

  test('reports a single object if its name is selected', async ({ leases }) => {
    const query = { resourceVersion: await leases.revision(), fieldSelector: 'metadata.name=y' };
    const watch = await leases.watch({ query });
    await tellStory(leases);
    await leases.make({ metadata: { name: 'y' } });
    expect([await watch.next(), await watch.next(), await watch.next()].map(told)).toEqual([
      'ADDED y {"a":"1"}',
      'DELETED y {"a":"1"}',
      'ADDED y {}',
    ]);
    watch.close();
  });

  test('reports changes of all namespaces', async ({ namespace, leases, target }) => {
    const query = `resourceVersion=${await leases.revision()}&fieldSelector=metadata.namespace%3D${namespace}`;
    const watch = await target.watch(`/apis/coordination.k8s.io/v1/leases?${query}`);
    const made = await leases.make({ metadata: { name: 'a' } });
    expect(await watch.next()).toEqual({ type: 'ADDED', object: made });
    watch.close();
  });

  for (const resourceVersion of [undefined, '', '0']) {
    test(`begins with the existing objects from resourceVersion ${JSON.stringify(resourceVersion)}`, async ({
      leases,
    }) => {
      const made = [
        await leases.make({ metadata: { name: 'b' } }),
        await leases.make({ metadata: { name: 'a' } }),
      ];
      await untilCached(leases);
      const watch = await leases.watch(resourceVersion === undefined ? {} : { query: { resourceVersion } });
      const initial = [await watch.next(), await watch.next()];
      expect(initial).toEqual(expect.arrayContaining(made.map((object) => ({ type: 'ADDED', object }))));
      await leases.delete('a');
      expect(told(await watch.next())).toBe('DELETED a {}');
      watch.close();
    });
  }

  test('is a JSON stream that must not be cached', async ({ leases }) => {
    const watch = await leases.watch();
    expect(watch.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-cache, private',
      'transfer-encoding': 'chunked',
    });
    watch.close();
  });

  test('ends cleanly at its timeout', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const watch = await leases.watch({ query: { timeoutSeconds: 1 } });
    expect((await watch.end()).map(told)).toEqual(['ADDED a {}']);
  });

  test('does not start with 0 and false', async ({ leases, request }) => {
    for (const value of ['0', 'false', 'False']) {
      const answer = await request('GET', `${leases.path}?watch=${value}`);
      expect(answer.json['kind']).toBe('LeaseList');
    }
  });

  test('refuses an invalid resourceVersion', async ({ leases }) => {
    expectAnswer(
      await leases.list({ query: { watch: true, resourceVersion: 'abc' } }),
      500,
      failure(500, ''),
    );
  });

  const requiresMatch = forbidden('resourceVersionMatch');
  const gateIsOff = forbidden('sendInitialEvents');
  const noMatch = forbidden('resourceVersionMatch');
  const wrongMatch = notSupported('resourceVersionMatch');
  const unlessOn = streamsLists ? [] : [gateIsOff];
  const wrong: readonly (readonly [NonNullable<Asked['query']>, ReturnType<typeof forbidden>[]])[] = [
    [{ sendInitialEvents: 'true' }, [requiresMatch, ...unlessOn]],
    [{ sendInitialEvents: 'false' }, [requiresMatch, ...unlessOn]],
    [{ sendInitialEvents: 'true', resourceVersionMatch: 'Exact' }, [requiresMatch, ...unlessOn, wrongMatch]],
    [{ resourceVersion: '1', resourceVersionMatch: 'NotOlderThan' }, [noMatch]],
    [{ resourceVersion: '1', resourceVersionMatch: 'Exact' }, [noMatch, wrongMatch]],
  ];
  for (const [query, causes] of wrong) {
    test(`refuses ${JSON.stringify(query)}`, async ({ leases }) => {
      expectAnswer(
        await leases.list({ query: { watch: true, ...query } }),
        422,
        invalidOptions('ListOptions', causes),
      );
    });
  }

  if (!streamsLists) {
    // Without streaming lists, the server chooses when to send bookmarks, and sends none at the beginning.
    test('refuses to stream a list', async ({ leases }) => {
      const query = { watch: true, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
      expectAnswer(await leases.list({ query }), 422, invalidOptions('ListOptions', [gateIsOff]));
    });
    return;
  }

  // 1.32 still writes an empty creationTimestamp, and sends what an empty list looks like.
  const endOfList =
    minor >= 34
      ? { resourceVersion: expect.any(String), annotations: { 'k8s.io/initial-events-end': 'true' } }
      : {
          resourceVersion: expect.any(String),
          creationTimestamp: null,
          annotations: {
            'k8s.io/initial-events-end': 'true',
            'kubernetes.io/initial-events-list-blueprint': expect.any(String),
          },
        };
  const bookmark = {
    type: 'BOOKMARK',
    object: { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', metadata: endOfList, spec: {} },
  };
  for (const query of [
    { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' },
    {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      resourceVersion: '0',
    },
    { allowWatchBookmarks: 'true' },
    { allowWatchBookmarks: 'true', resourceVersion: '0' },
  ]) {
    test(`streams the list and then marks its end with ${JSON.stringify(query)}`, async ({ leases }) => {
      const a = await leases.make({ metadata: { name: 'a' } });
      const b = await leases.make({ metadata: { name: 'b' } });
      await untilCached(leases);
      const watch = await leases.watch({ query });
      const initial = [await watch.next(), await watch.next()];
      expect(initial).toEqual(expect.arrayContaining([a, b].map((object) => ({ type: 'ADDED', object }))));
      const end = await watch.next();
      expect(end).toEqual(bookmark);
      expect(BigInt(end.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
        BigInt(b.metadata.resourceVersion),
      );
      await leases.delete('a');
      expect(told(await nextChange(watch))).toBe('DELETED a {}');
      watch.close();
      const next = await leases.watch({ query: { resourceVersion: end.object.metadata.resourceVersion } });
      expect(told(await next.next())).toBe('DELETED a {}');
      next.close();
    });
  }

  test('marks the end of an empty list', async ({ leases }) => {
    const watch = await leases.watch({ query: { allowWatchBookmarks: 'true' } });
    expect(await watch.next()).toEqual(bookmark);
    watch.close();
  });

  test('streams a list of at least the requested revision', async ({ leases }) => {
    const { resourceVersion } = (await leases.make({ metadata: { name: 'a' } })).metadata;
    const b = await leases.make({ metadata: { name: 'b' } });
    const query = {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      resourceVersion,
    };
    await untilCached(leases);
    const watch = await leases.watch({ query });
    const initial = await watch.until(({ type }) => type === 'BOOKMARK');
    watch.close();
    expect(initial).toHaveLength(3);
    expect(initial).toContainEqual({ type: 'ADDED', object: b });
  });

  test('does not mark the end of the list without bookmarks', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const query = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
    const watch = await leases.watch({ query });
    const initial = await watch.next();
    await leases.make({ metadata: { name: 'b' } });
    expect([initial, await watch.next()].map(told)).toEqual(['ADDED a {}', 'ADDED b {}']);
    watch.close();
  });

  test('resumes from a resourceVersion without initial events', async ({ leases }) => {
    const { resourceVersion } = (await leases.make({ metadata: { name: 'a' } })).metadata;
    const b = await leases.make({ metadata: { name: 'b' } });
    const query = {
      sendInitialEvents: 'false',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      resourceVersion,
    };
    const watch = await leases.watch({ query });
    expect(await nextChange(watch)).toEqual({ type: 'ADDED', object: b });
    watch.close();
  });
}
