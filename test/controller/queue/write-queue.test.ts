import { beforeEach, describe, expect, test } from 'vitest';
import { URGENCIES, type Urgency } from '../../../src/controller/queue/order-and-limit.ts';
import { WriteQueue } from '../../../src/controller/queue/write-queue.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

/** A queue whose turns are written down; a Lease that has its turn sends one request, or as many as it is told to. */
class SimSender {
  readonly queue: WriteQueue;
  /** Like `default/a`, in the order of the turns. */
  readonly turns: string[] = [];
  readonly slots: number[] = [];
  /** Like `grant 30`: the urgency, and how long it waited. */
  readonly waited: string[] = [];
  /** How many of its slots a Lease takes. */
  takes: (slots: number) => number = () => 1;
  onTurn: (key: string, urgency: Urgency) => void = () => {};
  readonly #ends = new Map<string, ((isAnswered: boolean) => void)[]>();

  constructor(most: number) {
    this.queue = new WriteQueue({
      clock,
      maxInFlight: most,
      serve: (key, urgency, slots) => {
        this.turns.push(key);
        this.slots.push(slots);
        this.send(key, this.takes(slots));
        this.onTurn(key, urgency);
      },
      observer: { waited: (urgency, ms) => this.waited.push(`${urgency} ${ms}`) },
    });
  }

  send(key: string, requests = 1): void {
    const ends = this.#ends.get(key) ?? [];
    for (let sent = 0; sent < requests; sent++) ends.push(this.queue.begin(key));
    this.#ends.set(key, ends);
  }

  /** One request of a Lease is answered. */
  answer(key: string): void {
    const end = this.#ends.get(key)?.shift();
    if (!end) throw new Error(`${key} has nothing under way`);
    end(true);
  }

  /** Answers one request after the other, each of whoever had a turn last, until nothing waits any more. */
  drain(): readonly string[] {
    for (let answered = 0; answered < this.turns.length; answered++) {
      const key = this.turns[answered];
      if (key !== undefined) this.answer(key);
    }
    return this.turns;
  }
}

describe('turns are given (rule 9)', () => {
  test('at once while there is room', () => {
    const sender = new SimSender(2);
    sender.queue.want('default/a', 'grant', 0);
    sender.queue.want('default/b', 'grant', 0);
    sender.queue.want('default/c', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/b']);
    expect(sender.queue.inFlight).toBe(2);
    sender.answer('default/a');
    expect(sender.turns).toEqual(['default/a', 'default/b', 'default/c']);
  });

  test('by urgency, whoever came first and has needed it for longest', () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    for (const [index, urgency] of URGENCIES.toReversed().entries()) {
      sender.queue.want(`default/${urgency}`, urgency, index);
    }
    expect(sender.turns).toEqual([]);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(URGENCIES.map((urgency) => `default/${urgency}`));
  });

  test('to namespaces in turn', () => {
    const sender = new SimSender(1);
    sender.send('other/busy');
    for (const key of ['big/a', 'big/b', 'big/c', 'small/d']) sender.queue.want(key, 'vacant', 0);
    sender.answer('other/busy');
    expect(sender.drain()).toEqual(['big/a', 'small/d', 'big/b', 'big/c']);
  });

  test('to the Lease with the fewest requests under way, then to the one that has needed it for longest', () => {
    const sender = new SimSender(4);
    sender.send('default/two', 2);
    sender.send('default/one');
    sender.send('default/busy');
    sender.queue.want('default/two', 'grant', 0);
    sender.queue.want('default/one', 'grant', 10);
    sender.queue.want('default/short', 'grant', 30);
    sender.queue.want('default/long', 'grant', 20);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(['default/long', 'default/short', 'default/one', 'default/two']);
  });

  test('by what is under way now, not by what was when it was asked for', () => {
    const sender = new SimSender(3);
    sender.send('default/a');
    sender.send('default/b', 2);
    sender.queue.want('default/a', 'grant', 10);
    sender.queue.want('default/b', 'grant', 0);
    sender.takes = () => 0;
    sender.answer('default/b');
    // Both have one under way by now, and b has needed it for longer.
    expect(sender.turns).toEqual(['default/b', 'default/a']);
  });

  test('to what is asked for while another has its turn', () => {
    const sender = new SimSender(4);
    sender.onTurn = (key) => {
      if (key === 'default/a') sender.queue.want('default/b', 'grant', 0);
    };
    sender.queue.want('default/a', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/b']);
  });
});

describe('a Lease (rule 9)', () => {
  test('has never more than eight requests under way', () => {
    const sender = new SimSender(20);
    sender.takes = (slots) => slots;
    sender.queue.want('default/a', 'grant', 0);
    expect(sender.slots).toEqual([8]);
    sender.queue.want('default/a', 'grant', 0);
    sender.queue.want('default/b', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/b']);
    expect(sender.queue.inFlightFor('default/a')).toBe(8);
    sender.answer('default/a');
    expect(sender.turns.at(-1)).toBe('default/a');
    expect(sender.slots).toEqual([8, 8, 1]);
  });

  test('waits for one thing at a time, the last that it asked for, since it first asked', async () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    sender.queue.want('default/a', 'housekeeping', 0);
    await clock.advance(20);
    sender.queue.want('default/a', 'grant', 20);
    expect(sender.queue.waiting()).toEqual({
      grant: 1,
      preference: 0,
      vacant: 0,
      expiry: 0,
      housekeeping: 0,
    });
    await clock.advance(10);
    sender.answer('default/busy');
    expect(sender.drain()).toEqual(['default/a']);
    expect(sender.waited).toEqual(['grant 30']);
  });

  test('that has nothing to write any more has no turn', () => {
    const sender = new SimSender(1);
    sender.send('default/busy');
    sender.queue.want('default/a', 'grant', 0);
    sender.queue.want('default/b', 'grant', 0);
    expect(sender.queue.isWaiting('default/a')).toBe(true);
    sender.queue.drop('default/a');
    sender.queue.drop('default/never-asked');
    expect(sender.queue.isWaiting('default/a')).toBe(false);
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
  ])('requests of urgency $urgency may fill $want of $most', ({ urgency, most, want }) => {
    const sender = new SimSender(most);
    for (let lease = 0; lease < 2 * most; lease++) sender.queue.want(`default/${lease}`, urgency, 0);
    expect(sender.queue.inFlight).toBe(want);
    expect(sender.queue.waiting()[urgency]).toBe(2 * most - want);
  });

  test('what is left is for those that matter more, and no Lease gets more than its part of it', () => {
    const sender = new SimSender(16);
    sender.takes = (slots) => slots;
    sender.queue.want('default/a', 'expiry', 0);
    sender.queue.want('default/b', 'expiry', 0);
    sender.queue.want('default/c', 'vacant', 0);
    sender.queue.want('default/d', 'grant', 0);
    expect(sender.turns).toEqual(['default/a', 'default/c', 'default/d']);
    expect(sender.slots).toEqual([8, 4, 4]);
  });

  test('there is less when the server is slow', async () => {
    const sender = new SimSender(16);
    sender.send('default/busy');
    await clock.advance(2000);
    sender.answer('default/busy');
    expect(sender.queue.limit).toBe(12);
    for (let lease = 0; lease < 20; lease++) sender.queue.want(`default/${lease}`, 'preference', 0);
    expect(sender.queue.inFlight).toBe(12);
    // But not for grants.
    for (let lease = 20; lease < 40; lease++) sender.queue.want(`default/${lease}`, 'grant', 0);
    expect(sender.queue.inFlight).toBe(16);
  });
});

describe('once it is closed', () => {
  test('no turn is given any more, and it is over when nothing is under way', async () => {
    const sender = new SimSender(2);
    sender.send('default/a');
    sender.send('default/b');
    sender.queue.want('default/c', 'grant', 0);
    let isOver = false;
    const closing = sender.queue.close().then(() => {
      isOver = true;
    });
    sender.queue.want('default/d', 'grant', 0);
    sender.answer('default/a');
    await clock.advance(0);
    expect(isOver).toBe(false);
    sender.answer('default/b');
    await closing;
    expect(sender.turns).toEqual([]);
    expect(sender.queue.inFlight).toBe(0);
  });

  test('it is over at once when nothing is under way', async () => {
    await expect(new SimSender(2).queue.close()).resolves.toBeUndefined();
  });
});
