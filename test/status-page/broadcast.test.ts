import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Broadcast, createBroadcast, MAX_READERS } from '../../src/status-page/broadcast.ts';
import { catalogue } from '../../src/status-page/status-page.ts';
import type { ElectionEntry, StateMessage } from '../../src/status-page/wire.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimLeases } from './make-leases.ts';
import { SimReader } from './sim-reader.ts';

const MIB = 1024 * 1024;

let clock: VirtualClock;
let leases: SimLeases;
let broadcast: Broadcast;
let state: StateMessage;
let elections: ElectionEntry[];
let errors: unknown[];

beforeEach(() => build());

function build(): void {
  clock = new VirtualClock();
  leases = new SimLeases(clock);
  state = { replica: 'active', api: 'served', hasSynced: true };
  elections = [];
  errors = [];
  leases.onSeen = (key, isRenewalOnly) => broadcast.touch(key, isRenewalOnly);
  broadcast = createBroadcast({
    clock,
    source: leases,
    electionsAfter: (after) => elections.filter(({ id }) => id > after),
    hello: {
      version: 'test',
      startedAt: 0,
      namespaces: [],
      notServedAdvice: 'turn it on',
      ...catalogue,
    },
    state: () => state,
    onError: (error) => errors.push(error),
  });
}

function join(reader = new SimReader()): { reader: SimReader; leave: () => void } {
  const leave = broadcast.join(reader);
  if (!leave) throw new Error('there should be room for another');
  return { reader, leave };
}

function election(id: number): ElectionEntry {
  return {
    id,
    at: 0,
    key: 'kube-system/one',
    what: 'LeaderElected',
    isWarning: false,
    text: `election ${id}`,
    passedOver: [],
    more: 0,
  };
}

describe('a new reader', () => {
  test('gets the words, then everything, and then the end mark', async () => {
    for (const name of ['a', 'b', 'c']) leases.seeLed(name);
    elections = [election(1), election(2)];
    const { reader } = join();
    await clock.advance(250);
    const events = reader.told.map(({ event }) => event);
    expect(events).toEqual(['hello', 'beat', 'state', 'elections', 'leases', 'complete']);
    expect(reader.of('complete')).toEqual([{ leases: 3 }]);
    expect([...reader.shown.keys()]).toEqual(['kube-system/a', 'kube-system/b', 'kube-system/c']);
    expect(reader.of('elections')).toEqual([elections]);
  });

  test('gets thousands of Leases in pieces, at once and not four times a second', async () => {
    for (let index = 0; index < 2000; index++) leases.seeLed(`lease-${index}`);
    const { reader } = join();
    await clock.advance(249);
    expect(reader.shown.size).toBe(2000);
    expect(reader.of('complete')).toEqual([{ leases: 2000 }]);
    expect(reader.of('leases').every(({ changed }) => changed.length <= 200)).toBe(true);
  });

  test('is refused if there are too many already, until one leaves', () => {
    const joined = Array.from({ length: MAX_READERS }, () => join());
    expect(broadcast.join(new SimReader())).toBeUndefined();
    joined[0]?.leave();
    expect(broadcast.join(new SimReader())).toBeDefined();
  });
});

describe('an up-to-date reader', () => {
  test('gets changes at most four times a second, and only the last one', async () => {
    leases.seeLed('one');
    const { reader } = join();
    await clock.advance(250);
    const before = reader.of('leases').length;
    for (let at = 0; at < 1000; at += 10) {
      leases.seeCandidate('one', 'one-c', { binaryVersion: `1.36.${at}` });
      await clock.advance(10);
    }
    await clock.advance(250);
    const told = reader.of('leases').slice(before);
    expect(told.map(({ changed }) => changed.length)).toEqual([1, 1, 1, 1]);
    expect(reader.shown.get('kube-system/one')?.candidates).toContainEqual(
      expect.objectContaining({ name: 'one-c', binary: '1.36.990' }),
    );
  });

  test('gets each election once', async () => {
    elections = [election(1)];
    const { reader } = join();
    await clock.advance(250);
    elections.push(election(2), election(3));
    await clock.advance(250);
    expect(reader.of('elections').map((entries) => entries.map(({ id }) => id))).toEqual([[1], [2, 3]]);
  });

  test('gets a changed state of the replica, and only then', async () => {
    const { reader } = join();
    await clock.advance(1000);
    state = { replica: 'standby', lockHolder: 'other', api: 'served', hasSynced: true };
    await clock.advance(1000);
    expect(reader.of('state')).toEqual([{ replica: 'active', api: 'served', hasSynced: true }, state]);
  });

  test('gets a message every ten seconds although nothing happens', async () => {
    const { reader } = join();
    await clock.advance(60_000);
    // The first one at the start contains the time.
    expect(reader.of('beat')).toHaveLength(1 + 6);
  });
});

describe('a slow reader', () => {
  test('gets nothing until there is room, and then the present state', async () => {
    leases.seeLed('one');
    const { reader } = join();
    await clock.advance(250);
    reader.isFast = false;
    reader.writableLength = MIB;
    for (let minor = 0; minor < 8; minor++) {
      leases.seeCandidate('one', 'one-c', { binaryVersion: `1.${minor}.0` });
      leases.seeLed(`new-${minor}`);
      await clock.advance(1000);
    }
    expect(reader.shown.size).toBe(1);
    reader.drain();
    await clock.advance(250);
    expect(reader.shown.size).toBe(9);
    expect(reader.shown.get('kube-system/one')?.candidates).toContainEqual(
      expect.objectContaining({ name: 'one-c', binary: '1.7.0' }),
    );
  });

  test('never has more than a limit of bytes in its queue', async () => {
    for (let index = 0; index < 3000; index++) leases.seeLed(`lease-${index}`);
    const reader = new SimReader();
    reader.isFast = false;
    join(reader);
    await clock.advance(2000);
    expect(reader.writableLength).toBeLessThan(MIB);
    expect(reader.shown.size).toBeLessThan(3000);
    for (let turn = 0; turn < 100 && reader.of('complete').length === 0; turn++) {
      reader.drain();
      await clock.advance(250);
    }
    expect(reader.shown.size).toBe(3000);
  });

  test('is disconnected after half a minute, and the others are not', async () => {
    const slow = join().reader;
    const { reader } = join();
    await clock.advance(250);
    slow.writableLength = MIB;
    await clock.advance(29_500);
    expect(slow.isCut).toBe(false);
    await clock.advance(1000);
    expect({ slow: slow.isCut, other: reader.isCut }).toEqual({ slow: true, other: false });
  });
});

describe('without readers', () => {
  test('there is no work, before the first and after the last', async () => {
    for (let index = 0; index < 500; index++) leases.seeLed(`lease-${index}`);
    expect(clock.pendingTimers).toBe(0);
    const { leave } = join();
    await clock.advance(20);
    leave();
    leases.looks = 0;
    await clock.advance(60_000);
    expect({ timers: clock.pendingTimers, looks: leases.looks }).toEqual({ timers: 0, looks: 0 });
  });

  test('changes are not missed by the next reader', async () => {
    leases.seeLed('one');
    join().leave();
    leases.seeLed('two');
    const { reader } = join();
    await clock.advance(250);
    expect([...reader.shown.keys()].toSorted()).toEqual(['kube-system/one', 'kube-system/two']);
  });
});

test('an unexpected error ends only the streams, and is reported', async () => {
  const { reader } = join();
  await clock.advance(250);
  const failure = new Error('broken');
  leases.gather = () => {
    throw failure;
  };
  leases.seeLed('one');
  await clock.advance(250);
  expect(errors).toEqual([failure]);
  expect({ isEnded: reader.isEnded, timers: clock.pendingTimers }).toEqual({ isEnded: true, timers: 0 });
});

test('closing ends all streams, without waiting for readers', async () => {
  const { reader } = join();
  const slow = join().reader;
  await clock.advance(250);
  slow.writableLength = MIB;
  broadcast.close();
  expect({ isEnded: slow.isEnded, isCut: slow.isCut }).toEqual({ isEnded: false, isCut: true });
  expect({ isEnded: reader.isEnded, timers: clock.pendingTimers }).toEqual({ isEnded: true, timers: 0 });
});

test('all readers end with the same state, at any speed and from any time', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('change' as const), lease: fc.nat(400), minor: fc.nat(40) }),
    fc.record({ kind: fc.constant('drop' as const), lease: fc.nat(400) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(600) }),
    fc.record({ kind: fc.constant('join' as const), isFast: fc.boolean() }),
    fc.record({ kind: fc.constant('drain' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      build();
      for (let index = 0; index < 300; index++) leases.seeCandidate(`lease-${index}`, 'a');
      const readers: SimReader[] = [];
      for (const each of steps) {
        if (each.kind === 'change') {
          leases.seeCandidate(`lease-${each.lease}`, 'a', { binaryVersion: `1.${each.minor}.0` });
        } else if (each.kind === 'drop') leases.dropCandidate(`lease-${each.lease}`, 'a');
        else if (each.kind === 'wait') await clock.advance(each.ms);
        else if (each.kind === 'drain') for (const reader of readers) reader.drain();
        else if (readers.length < MAX_READERS) {
          const { reader } = join();
          reader.isFast = each.isFast;
          readers.push(reader);
        }
      }
      const witness = join().reader;
      for (let turn = 0; turn < 8; turn++) {
        for (const reader of readers) reader.drain();
        await clock.advance(250);
      }
      const sorted = (reader: SimReader) => Object.fromEntries([...reader.shown].toSorted());
      for (const reader of readers) expect(sorted(reader)).toEqual(sorted(witness));
    }),
    { numRuns: 30 },
  );
});
