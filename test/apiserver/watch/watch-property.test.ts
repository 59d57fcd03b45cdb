import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import type { WatchStart } from '../../../src/apiserver/watch/served-watch.ts';
import { makeObject } from '../storage/make-object.ts';
import { WatchedStore } from './make-watch.ts';
import { PacedSink } from './paced-sink.ts';

const selections: Readonly<Record<string, (object: ApiObject) => boolean>> = {
  everything: () => true,
  labelled: ({ metadata }) => metadata.labels?.['on'] === 'yes',
  inNamespace: ({ metadata }) => metadata.namespace === 'm',
  oneObject: ({ metadata }) => metadata.namespace === 'n' && metadata.name === 'a',
};

const namespace = fc.constantFrom('m', 'n');
const name = fc.constantFrom('a', 'b', 'c');

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), namespace, name, isOn: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), namespace, name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('writeElsewhere' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('watch' as const),
      start: fc.oneof(
        fc.record({ kind: fc.constant('state' as const), sendBookmark: fc.boolean() }),
        fc.record({ kind: fc.constant('revision' as const), ahead: fc.integer({ min: -12, max: 3 }) }),
      ),
      selection: fc.constantFrom(...Object.keys(selections)),
      // Bytes: less than a line, a few lines, more than there will be.
      capacity: fc.constantFrom(1, 600, 1_000_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('read' as const), watcher: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), watcher: fc.nat({ max: 5 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);

/** The effect of one write on a Lease. */
interface Change {
  readonly revision: number;
  readonly key: string;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

/** A started watch, with the revision after which it must report all changes. */
interface Watch {
  readonly sink: PacedSink;
  readonly from: WatchStart;
  readonly since: number;
  /** The revision of the store at the start. */
  readonly startedAt: number;
  readonly selects: (object: ApiObject) => boolean;
}

/** The events that the client must get if it reads to the end. */
function oracle({ from, since, selects }: Watch, changes: readonly Change[]): readonly string[] {
  const lines: string[] = [];
  if (from.kind === 'state') {
    const state = new Map<string, ApiObject>();
    for (const { revision, key, after } of changes) {
      if (revision > since) continue;
      if (after) state.set(key, after);
      else state.delete(key);
    }
    for (const [key, object] of [...state].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      if (selects(object)) lines.push(`ADDED ${key}@${object.metadata.resourceVersion}`);
    }
    if (from.sendBookmark) lines.push(`BOOKMARK @${since}`);
  }
  for (const { revision, key, before, after } of changes) {
    if (revision <= since) continue;
    const [was, is] = [before && selects(before), after && selects(after)];
    if (was && is) lines.push(`MODIFIED ${key}@${revision}`);
    else if (is) lines.push(`ADDED ${key}@${revision}`);
    else if (was) lines.push(`DELETED ${key}@${revision}`);
  }
  return lines;
}

/** The number of events that were not sent to the client when it had these lines. */
function missed({ since, startedAt }: Watch, lines: readonly string[], changes: readonly Change[]): number {
  const sent = Number(lines.at(-1)?.split('@')[1] ?? 0);
  return changes.filter(({ revision }) => revision > Math.max(sent, Math.min(since, startedAt))).length;
}

test('a watcher gets exactly its selected events, whole and in order, or gets an error or is dropped when they are forgotten', async () => {
  const fates = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.array(command, { maxLength: 80, size: 'max' }),
      async (limit, commands) => {
        const watched = new WatchedStore(limit);
        const { store } = watched;
        const changes: Change[] = [];
        const watches: Watch[] = [];
        const refused: { readonly sink: PacedSink; readonly lost: number }[] = [];
        for (const next of commands) {
          switch (next.do) {
            case 'put': {
              const labels = { on: next.isOn ? 'yes' : 'no' };
              const key = `${next.namespace}/${next.name}`;
              const before = store.get('leases', key)?.object;
              const stored = store.put(
                'leases',
                makeObject(next.name, { namespace: next.namespace, labels }),
              );
              changes.push({ revision: stored.revision, key, before, after: stored.object });
              break;
            }
            case 'remove': {
              const key = `${next.namespace}/${next.name}`;
              const before = store.get('leases', key)?.object;
              if (before === undefined) break;
              const { revision } = store.remove('leases', key);
              changes.push({ revision, key, before, after: undefined });
              break;
            }
            case 'writeElsewhere':
              store.put('namespaces', makeObject('m'));
              break;
            case 'watch': {
              const revision = Math.max(
                1,
                store.revision + (next.start.kind === 'revision' ? next.start.ahead : 0),
              );
              const from = next.start.kind === 'state' ? next.start : { kind: 'revision' as const, revision };
              const selects = selections[next.selection] ?? (() => false);
              const sink = watched.watch({ from, selects }, new PacedSink(next.capacity));
              const watch = { sink, from, selects, since: revision, startedAt: store.revision };
              if (sink.lines[0]?.type === 'ERROR') refused.push({ sink, lost: missed(watch, [], changes) });
              else watches.push(watch);
              break;
            }
            case 'read':
              watches[next.watcher]?.sink.read();
              break;
            case 'leave':
              if (watches[next.watcher]?.sink.state === 'open') watches[next.watcher]?.sink.leave();
              break;
            case 'settle':
              await watched.settle();
              break;
          }
        }
        for (const { sink } of watches) sink.readAlways();
        await watched.settle();

        for (const { sink, lost } of refused) {
          expect(sink.lines).toHaveLength(1);
          expect(sink.lines[0]?.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
          expect(sink.state).toBe('ended');
          expect(lost).toBeGreaterThanOrEqual(limit);
          fates.add('refused');
        }
        for (const watch of watches) {
          const { sink } = watch;
          const wanted = oracle(watch, changes);
          const got = sink.summary;
          fates.add(sink.state);
          if (sink.state === 'open') {
            expect(got).toEqual(wanted);
            continue;
          }
          expect(got).toEqual(wanted.slice(0, got.length));
          if (sink.state === 'destroyed') expect(missed(watch, got, changes)).toBeGreaterThan(limit);
        }
        for (const { sink } of watches) if (sink.state === 'open') sink.leave();
        await watched.settle();
        expect(watched.clock.pendingTimers).toBe(0);
      },
    ),
    { seed: 4355, numRuns: 500 },
  );
  expect([...fates].toSorted()).toEqual(['closed', 'destroyed', 'open', 'refused']);
});
