import { beforeEach, describe, expect, test } from 'vitest';
import { RequestRoom, URGENCIES, type Urgency } from '../../src/controller/order-and-limit.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

/** Sends one request for each Lease that has a free slot, or the given number, and records the Leases. */
class SimSender {
  readonly room: RequestRoom;
  /** Like `default/a`, in the order of their turns. */
  readonly turns: string[] = [];
  readonly #ends = new Map<string, ((isAnswered: boolean) => void)[]>();
  readonly #urgencies = new Map<string, Urgency>();
  /** Maximum number of requests that a Lease sends per turn. */
  requests = 1;

  constructor(most: number) {
    this.room = new RequestRoom(clock, most);
  }

  want(key: string, urgency: Urgency, since: number): void {
    this.#urgencies.set(key, urgency);
    this.room.wait(key, urgency, since);
    this.serve();
  }

  serve(): void {
    for (let key = this.room.next(); key !== undefined; key = this.room.next()) {
      this.turns.push(key);
      const urgency = this.#urgencies.get(key) ?? 'grant';
      for (let sent = 0; sent < this.requests && this.room.isFree(key, urgency); sent++) this.send(key);
    }
  }

  send(key: string, requests = 1): void {
    const ends = this.#ends.get(key) ?? [];
    for (let sent = 0; sent < requests; sent++) ends.push(this.room.begin(key));
    this.#ends.set(key, ends);
  }

  /** Answers one request of a Lease. */
  answer(key: string): void {
    const end = this.#ends.get(key)?.shift();
    if (!end) throw new Error(`${key} has nothing under way`);
    end(true);
    this.serve();
  }

  /** Answers one request after the other, each of the Lease that had the last turn, until no Lease waits. */
  drain(): readonly string[] {
    for (let answered = 0; answered < this.turns.length; answered++) {
      const key = this.turns[answered];
      if (key !== undefined) this.answer(key);
    }
    return this.turns;
  }
}

describe('slots for requests are given (rule 9)', () => {
  test('at once if there is a free slot', () => {
    const sender = new SimSender(2);
    sender.want('default/a', 'grant', 0);
    sender.want('default/b', 'grant', 0);
    sender.want('default/c', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/b']);
    expect(sender.room.inFlight).toBe(2);
    sender.answer('default/a');
    expect(sender.turns).toEqual(['default/a', 'default/b', 'default/c']);
  });

  test('by urgency, whatever the order and the age', () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    for (const [index, urgency] of URGENCIES.toReversed().entries()) {
      sender.want(`default/${urgency}`, urgency, index);
    }
    expect(sender.turns).toEqual([]);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(URGENCIES.map((urgency) => `default/${urgency}`));
  });

  test('to namespaces in turn', () => {
    const sender = new SimSender(1);
    sender.send('other/busy');
    for (const key of ['big/a', 'big/b', 'big/c', 'small/d']) sender.want(key, 'vacant', 0);
    sender.answer('other/busy');
    expect(sender.drain()).toEqual(['big/a', 'small/d', 'big/b', 'big/c']);
  });

  test('to the Lease with the fewest requests in flight, then to the one that has needed it for longest', () => {
    const sender = new SimSender(4);
    sender.send('default/two', 2);
    sender.send('default/one');
    sender.send('default/busy');
    sender.want('default/two', 'grant', 0);
    sender.want('default/one', 'grant', 10);
    sender.want('default/short', 'grant', 30);
    sender.want('default/long', 'grant', 20);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(['default/long', 'default/short', 'default/one', 'default/two']);
  });

  test('by the present requests in flight, not by those at the time of the request', () => {
    const sender = new SimSender(3);
    sender.send('default/a');
    sender.send('default/b', 2);
    sender.want('default/a', 'grant', 10);
    sender.want('default/b', 'grant', 0);
    sender.requests = 0;
    sender.answer('default/b');
    // Both have one in flight by now, and b has needed a slot for longer.
    expect(sender.turns).toEqual(['default/b', 'default/a']);
  });
});

describe('a Lease (rule 9)', () => {
  test('never has more than eight requests in flight', () => {
    const sender = new SimSender(20);
    sender.requests = 20;
    sender.want('default/a', 'grant', 0);
    expect(sender.room.inFlightOf('default/a')).toBe(8);
    expect(sender.room.isFree('default/a', 'grant')).toBe(false);
    sender.want('default/a', 'grant', 0);
    sender.want('default/b', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/b']);
    sender.answer('default/a');
    expect(sender.turns.at(-1)).toBe('default/a');
    expect(sender.room.inFlightOf('default/a')).toBe(8);
  });

  test('waits for one request at a time, the last one', () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    sender.want('default/a', 'housekeeping', 0);
    sender.want('default/a', 'grant', 20);
    expect(sender.room.waiting()).toEqual({
      grant: 1,
      preference: 0,
      vacant: 0,
      expiry: 0,
      housekeeping: 0,
    });
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(['default/a']);
  });

  test('without a pending write has no turn', () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    sender.want('default/a', 'grant', 0);
    sender.want('default/b', 'grant', 0);
    sender.room.stopWaiting('default/a');
    sender.room.stopWaiting('default/never-asked');
    expect(sender.room.waiting().grant).toBe(1);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(['default/b']);
  });
});

describe('of the limit (rule 9)', () => {
  test.each<{ urgency: Urgency; most: number; want: number }>([
    { urgency: 'grant', most: 16, want: 16 },
    { urgency: 'preference', most: 16, want: 16 },
    { urgency: 'vacant', most: 16, want: 12 },
    { urgency: 'expiry', most: 16, want: 8 },
    { urgency: 'housekeeping', most: 16, want: 4 },
    { urgency: 'expiry', most: 1, want: 1 },
    { urgency: 'housekeeping', most: 1, want: 1 },
  ])('requests of urgency $urgency may use $want of $most slots', ({ urgency, most, want }) => {
    const sender = new SimSender(most);
    for (let lease = 0; lease < 2 * most; lease++) sender.want(`default/${lease}`, urgency, 0);
    expect(sender.room.inFlight).toBe(want);
    expect(sender.room.waiting()[urgency]).toBe(2 * most - want);
  });

  test('the remaining slots are for more urgent requests, and no Lease gets more than its share', () => {
    const sender = new SimSender(16);
    sender.requests = 16;
    sender.want('default/a', 'expiry', 0);
    sender.want('default/b', 'expiry', 0);
    sender.want('default/c', 'vacant', 0);
    sender.want('default/d', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/c', 'default/d']);
    expect(sender.turns.map((key) => sender.room.inFlightOf(key))).toEqual([8, 4, 4]);
  });

  test('there are fewer slots when the server is slow', async () => {
    const sender = new SimSender(16);
    sender.send('default/busy');
    await clock.advance(2000);
    sender.answer('default/busy');
    expect(sender.room.limit).toBe(12);
    for (let lease = 0; lease < 20; lease++) sender.want(`default/${lease}`, 'preference', 0);
    expect(sender.room.inFlight).toBe(12);
    // But not for grants.
    for (let lease = 20; lease < 40; lease++) sender.want(`default/${lease}`, 'grant', 0);
    expect(sender.room.inFlight).toBe(16);
  });
});

test('a request that was not sent frees its slot, and says nothing about the server (rule 9)', async () => {
  const room = new RequestRoom(clock, 16);
  const answerAfter = async (ms: number) => {
    const ends = Array.from({ length: 8 }, (_, index) => room.begin(`default/${index}`));
    await clock.advance(ms);
    for (const end of ends) end(true);
  };
  // The server is always slow, so these answers are fast for this server.
  for (let second = 0; second < 120; second += 1.5) await answerAfter(1500);
  expect(room.limit).toBe(16);
  for (let each = 0; each < 100; each++) room.begin('default/a')(undefined);
  expect([room.limit, room.inFlight]).toEqual([16, 0]);
  await answerAfter(1500);
  expect(room.limit).toBe(16);
  room.begin('default/a')(false);
  for (let each = 0; each < 100; each++) room.begin('default/a')(undefined);
  expect(room.limit).toBe(12);
});
