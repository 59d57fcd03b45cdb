import { describe, expect, test } from 'vitest';
import { type ElectionsSurvey, surveyElections } from '../../src/controller/elections-survey.ts';
import type { Redundancy } from '../../src/controller/redundancy.ts';
import type { Instant } from '../../src/election/model.ts';
import { surveyStandings, surveyTenure } from '../../src/election/view.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
} from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';
const MINUTE = 60_000;

function survey(builder: InputBuilder, at: Instant, known?: Redundancy): Promise<ElectionsSurvey> {
  const input = builder.build();
  const tenure = surveyTenure(input, at);
  const now = makeNow(at);
  const standings = surveyStandings(input, tenure, now);
  return surveyElections([{ key: KEY, input, tenure, standings, now, reason: undefined }], known);
}

/** Exists from minute one, and was last heard of in the other minute. */
function pod(name: string, from: number, heard: number): ObservedBuilder {
  const born = makeCandidate(name)
    .createdAt(from * MINUTE)
    .renewedAt(from * MINUTE)
    .seenAt(from * MINUTE);
  return heard === from ? born : born.renewedAt(heard * MINUTE);
}

/** The same, and all pings since then were not answered. */
function silentPod(name: string, from: number, heard: number): ObservedBuilder {
  return pod(name, from, heard).pingedAt((heard + 6) * MINUTE);
}

const heldAt = (holder: string, minute: number) =>
  makeInput().sees(makeLease(holder).renewedAt(minute * MINUTE), minute * MINUTE);

const releasedBy = (holder: string, minute: number) =>
  heldAt(holder, minute - 0.1).sees(makeLease().releasedAt(minute * MINUTE), minute * MINUTE);

describe('a Lease', () => {
  test.for([
    { name: 'its only candidate leads', input: heldAt('a', 60).candidates(pod('a', 0, 60)), want: 0 },
    {
      name: 'two lead in turn, both there',
      input: heldAt('a', 60).candidates(pod('a', 0, 60), pod('b', 0, 60)),
      want: 0,
    },
    {
      name: 'one of two hangs',
      input: heldAt('a', 60).candidates(pod('a', 0, 60), silentPod('b', 0, 50)),
      want: 1,
    },
    {
      name: 'two of three hang, or are scaled down: the difference is unknown',
      input: heldAt('a', 60).candidates(pod('a', 0, 60), silentPod('b', 0, 50), silentPod('c', 0, 50)),
      want: 1,
    },
    {
      name: 'one of three hangs',
      input: heldAt('a', 60).candidates(pod('a', 0, 60), silentPod('b', 0, 50), pod('c', 0, 60)),
      want: 0,
    },
    {
      name: 'one of two hangs for so long that it is not valid any more',
      input: heldAt('a', 100).candidates(pod('a', 0, 100), silentPod('b', 0, 50)),
      at: 100,
      want: 1,
    },
    {
      name: 'one of two hangs since more than a day',
      input: heldAt('a', 1500).candidates(pod('a', 0, 1500), silentPod('b', 0, 50)),
      at: 1500,
      want: 0,
    },
    {
      name: 'all hang',
      input: heldAt('a', 50).candidates(silentPod('a', 0, 50), silentPod('b', 0, 50)),
      want: 1,
    },
    {
      name: 'the only one crashed, and came back under another name',
      input: heldAt('b', 60).candidates(silentPod('a', 0, 48), pod('b', 50, 60)),
      want: 0,
    },
    {
      name: 'the only one crashed again and again, each time under another name',
      input: heldAt('e', 60).candidates(
        silentPod('a', 0, 20),
        silentPod('b', 21, 28),
        silentPod('c', 29, 35),
        silentPod('d', 36, 42),
        pod('e', 43, 60),
      ),
      want: 0,
    },
    {
      name: 'the only one was replaced without a release; for minutes both were there',
      input: heldAt('b', 60).candidates(silentPod('a', 0, 50), pod('b', 46, 60)),
      want: 0,
    },
    {
      name: 'the only one was replaced, after a release',
      input: releasedBy('a', 50)
        .sees(makeLease('b').renewedAt(60 * MINUTE), 60 * MINUTE)
        .candidates(silentPod('a', 0, 49), pod('b', 49, 60)),
      want: 0,
    },
    {
      name: 'the leader of two was drained, and the new pod leads, while the other one hangs',
      input: releasedBy('a', 50)
        .sees(makeLease('c').renewedAt(60 * MINUTE), 60 * MINUTE)
        .candidates(silentPod('a', 0, 49), silentPod('b', 0, 40), pod('c', 49, 60)),
      want: 1,
    },
    {
      name: 'all three were replaced in an update',
      input: heldAt('d', 60).candidates(
        silentPod('a', 0, 40),
        silentPod('b', 0, 40),
        silentPod('c', 0, 40),
        pod('d', 39, 60),
        pod('e', 40, 60),
        pod('f', 41, 60),
      ),
      want: 0,
    },
  ])('has lost its redundancy or not: $name', async ({ input, at = 60, want }) => {
    expect((await survey(input, at * MINUTE)).withoutSuccessor).toBe(want);
  });

  test('has lost its redundancy even if the other candidates beside a hanging one are gone now', async () => {
    const hung = silentPod('b', 0, 40);
    const before = await survey(heldAt('a', 50).candidates(pod('a', 0, 50), hung), 50 * MINUTE);
    const after = heldAt('c', 60).candidates(pod('c', 50, 60), hung);
    expect((await survey(after, 60 * MINUTE, before.redundancy)).withoutSuccessor).toBe(1);
    expect((await survey(after, 60 * MINUTE)).withoutSuccessor).toBe(0);
    const last = makeInput().candidates(hung);
    expect((await survey(last, 60 * MINUTE, before.redundancy)).withoutSuccessor).toBe(1);
  });

  test('has no redundancy after its last candidate has been alone since then', async () => {
    const together = heldAt('a', 50).candidates(pod('a', 0, 50), pod('b', 0, 50));
    const { redundancy } = await survey(together, 50 * MINUTE);
    expect(redundancy.size).toBe(2);
    const alone = await survey(heldAt('a', 70).candidates(pod('a', 0, 70)), 70 * MINUTE, redundancy);
    expect(alone.redundancy.size).toBe(0);
    const replaced = heldAt('c', 90).candidates(silentPod('a', 0, 70), pod('c', 72, 90));
    expect((await survey(replaced, 90 * MINUTE, alone.redundancy)).withoutSuccessor).toBe(0);
  });

  test('with thousands of candidates has the same result as with a few', async () => {
    const crowd = Array.from({ length: 5000 }, (_, index) =>
      silentPod(`p${index}`, index / 100, 20 + index / 100),
    );
    const input = heldAt('a', 100).candidates(pod('a', 0, 100), ...crowd);
    const { redundancy, withoutSuccessor } = await survey(input, 100 * MINUTE);
    expect(withoutSuccessor).toBe(1);
    expect(redundancy.size).toBe(5000);
  });
});

describe('a Lease without a leader', () => {
  const gone = (name: string) => makeCandidate(name).deleting().seenAt(0);

  test.for([
    {
      name: 'its leader stopped renewing it',
      input: heldAt('a', 50).candidates(silentPod('a', 0, 48)),
      wantUnled: 1,
      wantLost: 0,
    },
    {
      name: 'the only pod was asked to exit',
      input: releasedBy('a', 50).candidates(silentPod('a', 0, 48)),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'the only pod was asked to exit, and was not pinged since then',
      input: releasedBy('a', 59).candidates(pod('a', 0, 55)),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'the only pod released the Lease, and renews its candidate',
      input: releasedBy('a', 50).candidates(pod('a', 0, 59)),
      wantUnled: 1,
      wantLost: 0,
    },
    {
      name: 'the only pod was asked to exit, and another one exists',
      input: releasedBy('a', 50).candidates(silentPod('a', 0, 48), pod('b', 59.95, 59.95)),
      wantUnled: 1,
      wantLost: 0,
    },
    {
      name: 'three pods were asked to exit at once',
      input: releasedBy('a', 50).candidates(
        silentPod('a', 0, 48),
        silentPod('b', 0, 46),
        silentPod('c', 0, 45),
      ),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'three pods were asked to exit at once, before this process started',
      input: makeInput()
        .sees(makeLease().releasedAt(40 * MINUTE), 59 * MINUTE)
        .candidates(
          ...['a', 'b', 'c'].map((name) =>
            makeCandidate(name)
              .createdAt(0)
              .renewedAt(38 * MINUTE)
              .seenAt(59 * MINUTE)
              .pingedAt(59 * MINUTE),
          ),
        ),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'three pods were asked to exit at once, and one of them had answered and got the Lease',
      input: releasedBy('a', 50)
        .sees(makeLease('b').renewedAt(50.01 * MINUTE), 50.01 * MINUTE)
        .candidates(silentPod('a', 0, 48), silentPod('b', 0, 50.01), silentPod('c', 0, 45)),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'three pods were asked to exit at once, some time after an update that had replaced three',
      input: releasedBy('d', 50).candidates(
        ...['a', 'b', 'c'].map((name) => silentPod(name, 0, 20)),
        ...['d', 'e', 'f'].map((name) => silentPod(name, 20, 48)),
      ),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'the only pod was asked to exit, some time after a crash that left another name behind',
      input: releasedBy('b', 50).candidates(silentPod('a', 0, 20), silentPod('b', 21, 48)),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'the leader was drained, while the other pod has hung for long',
      input: releasedBy('a', 50).candidates(silentPod('a', 0, 48), silentPod('b', 0, 30)),
      wantUnled: 1,
      wantLost: 1,
    },
    {
      name: 'the leader was drained, and its successor has crashed since',
      input: releasedBy('a', 40)
        .sees(makeLease('b').renewedAt(45 * MINUTE), 45 * MINUTE)
        .candidates(silentPod('a', 0, 38), silentPod('b', 0, 40)),
      wantUnled: 1,
      wantLost: 1,
    },
    {
      name: 'the leader has crashed, and so has its successor, seconds after it got the Lease',
      input: releasedBy('a', 50)
        .remembers({ endedAt: 50 * MINUTE })
        .sees(makeLease('b').renewedAt(50.1 * MINUTE), 50.1 * MINUTE)
        .candidates(silentPod('a', 0, 48), silentPod('b', 0, 50.01)),
      wantUnled: 1,
      wantLost: 1,
    },
    {
      name: 'the only pod has crashed',
      input: releasedBy('a', 50)
        .remembers({ endedAt: 50 * MINUTE })
        .candidates(silentPod('a', 0, 48)),
      wantUnled: 1,
      wantLost: 0,
    },
    {
      name: 'all pods hang',
      input: heldAt('a', 40).candidates(silentPod('a', 0, 38), silentPod('b', 0, 37), silentPod('c', 0, 36)),
      wantUnled: 1,
      wantLost: 1,
    },
    {
      name: 'another client emptied the Lease, and no candidate answers',
      input: heldAt('a', 50)
        .sees(makeLease('').renewedAt(50 * MINUTE), 50.01 * MINUTE)
        .candidates(silentPod('a', 0, 48)),
      wantUnled: 1,
      wantLost: 0,
    },
    {
      name: 'only finalizers keep the candidates that there were',
      input: makeInput().candidates(gone('a'), gone('b')),
      wantUnled: 0,
      wantLost: 0,
    },
    {
      name: 'only finalizers keep one of the candidates, and another one exists',
      input: makeInput().candidates(gone('a'), pod('b', 59.95, 59.95)),
      wantUnled: 1,
      wantLost: 0,
    },
  ])('is an outage, or was shut down: $name', async ({ input, wantUnled, wantLost }) => {
    const { unled, withoutSuccessor } = await survey(input, 60 * MINUTE);
    expect({ unled: unled.length, withoutSuccessor }).toEqual({
      unled: wantUnled,
      withoutSuccessor: wantLost,
    });
  });

  test('counts as a Lease unless only finalizers keep its candidates', async () => {
    expect(await survey(makeInput().candidates(gone('a'), gone('b')), 0)).toMatchObject({
      leases: 0,
      candidates: { Deleting: 2 },
    });
    expect((await survey(releasedBy('a', 50).candidates(silentPod('a', 0, 48)), 60 * MINUTE)).leases).toBe(1);
  });
});
