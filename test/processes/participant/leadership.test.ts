import { describe, expect, test } from 'vitest';
import { MAX_PROMISE_MS } from '../../../src/processes/participant/lead-connections.ts';
import { Leadership } from '../../../src/processes/participant/leader-endpoints.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { FakeTerm } from './fake-term.ts';

function makeLeadership(holder?: string) {
  const clock = new VirtualClock();
  const leadership = new Leadership({
    clock,
    lease: 'default/web',
    identity: () => 'web-1',
    holder: () => holder,
  });
  /** Leads in a term. Returns when it has released, in milliseconds. */
  const lead = (lastsMs = 15_000) => {
    const term = new FakeTerm(lastsMs, clock);
    const freed: number[] = [];
    void leadership.lead(term).then(() => freed.push(clock.now()));
    return { term, freed };
  };
  return { clock, leadership, lead };
}

describe('the leadership that a sidecar shows to its program (rule 15)', () => {
  test('names the observed holder while this candidate does not lead', () => {
    expect(makeLeadership('web-2').leadership.account()).toEqual({
      lease: 'default/web',
      identity: 'web-1',
      holder: 'web-2',
      leading: false,
      validForMs: 0,
    });
    expect(makeLeadership().leadership.account()).toMatchObject({ holder: '' });
  });

  test('is valid for the rest of the term, and never for long', async () => {
    const { clock, leadership, lead } = makeLeadership();
    lead(15_000);
    expect(leadership.account()).toEqual({
      lease: 'default/web',
      identity: 'web-1',
      holder: 'web-1',
      leading: true,
      fencingToken: 7,
      validForMs: MAX_PROMISE_MS,
    });
    await clock.advance(13_000);
    expect(leadership.account()).toMatchObject({ leading: true, validForMs: 2000 });
    await clock.advance(2000);
    // The term's own signal has not aborted yet.
    expect(leadership.account()).toMatchObject({ holder: '', leading: false, validForMs: 0 });
  });

  test('names this candidate only because of its term, never because of an observation', () => {
    const { leadership } = makeLeadership('web-1');
    expect(leadership.account()).toMatchObject({ holder: '', leading: false });
  });

  test('changes at once when the term is over, and the Lease is kept until the last promise ends', async () => {
    const { clock, leadership, lead } = makeLeadership();
    const { term, freed } = lead();
    await clock.advance(1000);
    leadership.account();
    await clock.advance(2000);
    term.end('yielded');
    expect(leadership.account()).toMatchObject({ leading: false, validForMs: 0 });
    await clock.advance(2999);
    expect(freed).toEqual([]);
    await clock.advance(1);
    expect(freed).toEqual([6000]);
  });

  test('has no promise without a request: the Lease is released at once', async () => {
    const { clock, lead } = makeLeadership();
    await clock.advance(5000);
    const { term, freed } = lead();
    await clock.advance(1000);
    term.end('stopped');
    await clock.advance(0);
    expect(freed).toEqual([6000]);
  });

  test('may have been promised just before this process started, by a predecessor that is gone', async () => {
    const { clock, lead } = makeLeadership();
    await clock.advance(1000);
    const { term, freed } = lead();
    term.end('yielded');
    await clock.advance(3999);
    expect(freed).toEqual([]);
    await clock.advance(1);
    expect(freed).toEqual([5000]);
  });

  test('keeps the sidecar from releasing a new grant before the last promise ends, even if the Lease was emptied', async () => {
    const { clock, leadership, lead } = makeLeadership();
    await clock.advance(5000);
    const { term, freed } = lead();
    leadership.account();
    await clock.advance(100);
    // The Lease has no holder any more. The coordinator may grant it to this candidate again at once.
    term.end('lost', 0);
    await clock.advance(MAX_PROMISE_MS - 101);
    expect(freed).toEqual([]);
    await clock.advance(1);
    expect(freed).toEqual([5000 + MAX_PROMISE_MS]);
  });

  test('has no promise any more after the program has stopped', async () => {
    const { clock, leadership, lead } = makeLeadership();
    const { term, freed } = lead();
    leadership.account();
    term.end('resigned');
    await clock.advance(100);
    leadership.acknowledge();
    await clock.advance(0);
    expect(freed).toEqual([100]);
  });

  test('is promised in a later term even if the program had given up a former one', async () => {
    const { clock, leadership, lead } = makeLeadership();
    const first = lead();
    leadership.acknowledge();
    first.term.end('resigned');
    await clock.advance(0);
    const second = lead();
    leadership.account();
    second.term.end('yielded');
    await clock.advance(1000);
    expect(second.freed).toEqual([]);
  });
});
