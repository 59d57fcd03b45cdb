import { expect, test } from 'vitest';
import { ObjectStore } from '../../../src/apiserver/storage/object-store.ts';
import { watchRounds } from '../../../src/apiserver/watch/watch-rounds.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { makeObject } from '../storage/make-object.ts';

/** Rounds for leases, with watchers that need `more` more rounds. */
function makeRounds() {
  const clock = new VirtualClock();
  const store = new ObjectStore();
  const rounds = watchRounds(store, 'leases', clock);
  const log: string[] = [];
  const add = (name: string, more = 0) => {
    let left = more;
    const watcher = {
      advance() {
        log.push(name);
        return left-- > 0;
      },
    };
    rounds.add(watcher);
    return watcher;
  };
  return { clock, store, rounds, log, add };
}

test('all writes of one turn are one round, in which each watcher has one turn', async () => {
  const { clock, store, log, add } = makeRounds();
  add('a');
  add('b');
  store.put('leases', makeObject('x'));
  store.put('leases', makeObject('y'));
  expect(log).toEqual([]);
  await clock.advance(0);
  expect(log).toEqual(['a', 'b']);
  store.put('namespaces', makeObject('x'));
  await clock.advance(0);
  expect(log).toEqual(['a', 'b']);
});

test('a watcher that needs another turn gets it after all others', async () => {
  const { clock, store, log, add } = makeRounds();
  add('a', 2);
  add('b');
  store.put('leases', makeObject('x'));
  await clock.advance(0);
  expect(log).toEqual(['a', 'b', 'a', 'a']);
});

test('a watcher that was woken runs alone, and a removed watcher is not called again', async () => {
  const { clock, store, rounds, log, add } = makeRounds();
  const [a, b] = [add('a'), add('b')];
  rounds.wake(a);
  await clock.advance(0);
  expect(log).toEqual(['a']);
  rounds.wake(b);
  await clock.advance(0);
  expect(log).toEqual(['a', 'b']);
  rounds.remove(a);
  store.put('leases', makeObject('x'));
  await clock.advance(0);
  expect(log).toEqual(['a', 'b', 'b']);
});

test('the output of a round is not kept after it', async () => {
  const { clock, rounds, add } = makeRounds();
  const [watcher, lines] = [add('a'), [Buffer.from('a\n'), Buffer.from('b\n')] as const];
  const first = rounds.batches.join([...lines]);
  rounds.wake(watcher);
  await clock.advance(0);
  const second = rounds.batches.join([...lines]);
  rounds.advance(watcher);
  const third = rounds.batches.join([...lines]);
  expect(new Set([first, second, third]).size).toBe(3);
  expect(rounds.batches.join([...lines])).toBe(third);
});

test('there is one for each kind of object in each store', () => {
  const { clock, store, rounds } = makeRounds();
  expect(watchRounds(store, 'leases', clock)).toBe(rounds);
  expect(watchRounds(store, 'namespaces', clock)).not.toBe(rounds);
  expect(watchRounds(new ObjectStore(), 'leases', clock)).not.toBe(rounds);
});

test('a long round is interrupted, and the next one begins with the remaining watchers', async () => {
  class SlowClock extends VirtualClock {
    #ticks = 0;
    override readonly now = (): number => {
      this.#ticks += 1;
      return this.#ticks;
    };
  }
  const clock = new SlowClock();
  const store = new ObjectStore();
  const rounds = watchRounds(store, 'leases', clock);
  const turns = new Map<string, number>();
  const names = Array.from({ length: 100 }, (_, index) => `w${index}`);
  for (const name of names) {
    rounds.add({
      advance() {
        turns.set(name, (turns.get(name) ?? 0) + 1);
        // Another client writes all the time: all watchers need new rounds.
        if (turns.size < names.length) store.put('leases', makeObject('x'));
        return false;
      },
    });
  }
  store.put('leases', makeObject('x'));
  await clock.advance(0);
  expect([...turns.keys()]).toEqual(names);
  expect(Math.max(...turns.values())).toBeLessThanOrEqual(3);
});
