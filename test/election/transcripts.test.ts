import { describe, expect, test } from 'vitest';
import { SimElection } from '../support/sim-election.ts';

// The main scenarios of this controller as transcripts: read the files as documentation, review their changes like
// code. `=>` marks a decision.

const THEIRS = 'example.com/theirs';

const stories: readonly {
  readonly name: string;
  readonly about: string;
  readonly tell: (sim: SimElection) => SimElection;
}[] = [
  {
    name: 'first-election',
    about:
      'Three candidates, none heard of lately, and no Lease: all are asked, and the answer of the best one decides.',
    tell: (sim) =>
      sim
        .add('new', { binary: '1.36.0', lastRenewedMsAgo: 60_000, answersAfterMs: 40 })
        .add('old', { binary: '1.36.0', emulation: '1.35.0', lastRenewedMsAgo: 60_000, answersAfterMs: 80 })
        .add('newer', { binary: '1.37.0', lastRenewedMsAgo: 60_000, answersAfterMs: 400 })
        .run(10_000),
  },
  {
    name: 'failover-by-expiry',
    about:
      'The leader dies. Its successors are asked before its Lease expires, so that one of them has it that very instant.',
    tell: (sim) => sim.add('a', { emulation: '1.35.0' }).add('b').add('c').run(20_000).crash('a').run(20_000),
  },
  {
    name: 'clean-release',
    about:
      'The leader releases its Lease. It is not elected again, though it is the best and its last ack is fresh.',
    tell: (sim) => sim.add('a', { emulation: '1.35.0' }).add('b').run(20_000).release('a').run(2000),
  },
  {
    name: 'preemption',
    about:
      'A better candidate appears. It has to go on answering until the leader has stopped and the Lease has expired.',
    tell: (sim) => sim.add('a').run(20_000).add('b', { emulation: '1.35.0' }).run(25_000),
  },
  {
    name: 'dead-best-candidate',
    about: 'The best candidate is dead, but valid for another half hour. It costs one ping, then nothing.',
    tell: (sim) =>
      sim
        .add('dead', {
          emulation: '1.30.0',
          lastRenewedMsAgo: 60_000,
          answersAfterMs: Number.POSITIVE_INFINITY,
          renewsByItself: false,
        })
        .add('a')
        .run(120_000),
  },
  {
    name: 'conflict-and-resolution',
    about:
      'Two candidates of one version want different strategies. One of them dies; a dead party is no party.',
    tell: (sim) =>
      sim
        .add('ours', { lastRenewedMsAgo: 60_000 })
        .add('theirs', { strategy: THEIRS, lastRenewedMsAgo: 60_000 })
        .run(20_000)
        .crash('theirs')
        .run(30_000),
  },
  {
    name: 'deleted-lease-of-a-live-leader',
    about:
      'Somebody deletes the Lease while another candidate is preferred. The leader may not know yet: it gets it back.',
    tell: (sim) =>
      sim.add('a').run(20_000).add('b', { emulation: '1.35.0' }).run(500).deleteLease().run(30_000),
  },
  {
    name: 'deleted-lease-of-a-lost-leader',
    about:
      'Somebody deletes the Lease of a leader that is cut off. Nobody gets it before that leader must have stopped.',
    tell: (sim) => sim.add('a').add('b').run(20_000).cutOff('a').run(1000).deleteLease().run(20_000),
  },
  {
    name: 'crash-loop',
    about:
      'A better program crashes as soon as it is preferred, and comes back under a new name each time. It is held off.',
    tell: (sim) => {
      sim.add('leader').run(20_000);
      for (const name of ['loop-1', 'loop-2', 'loop-3', 'loop-4']) {
        sim.add(name, { emulation: '1.30.0', elector: 'none' }).run(4000).crash(name).remove(name).run(6000);
      }
      return sim.run(10_000);
    },
  },
  {
    name: 'grants-not-taken-up',
    about:
      'The best candidate answers but never leads. After 5 s the next best has its turn, and each time that it is tried again.',
    tell: (sim) => sim.add('idler', { emulation: '1.30.0', elector: 'none' }).add('b').run(55_000),
  },
  {
    name: 'late-release',
    about:
      'A leader that lost its Lease by expiry empties it when it gives up. The new leader keeps it all the same.',
    tell: (sim) => sim.add('a').add('b').run(20_000).cutOff('a', 2500).run(40_000),
  },
];

describe('the transcript of', () => {
  test.each(stories)('$name', async ({ name, about, tell }) => {
    const sim = tell(new SimElection());
    expect(sim.violations).toEqual([]);
    await expect(`# ${about}\n\n${sim.transcript.join('\n')}\n`).toMatchFileSnapshot(
      `transcripts/${name}.txt`,
    );
  });
});
