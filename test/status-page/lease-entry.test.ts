import { describe, expect, test } from 'vitest';
import { recordPing } from '../../src/election/candidate-observation.ts';
import { lookAtLease, MOST_CANDIDATES } from '../../src/status-page/lease-entry.ts';
import type { LeaseEntry } from '../../src/status-page/wire.ts';
import {
  type CandidateBuilder,
  defaultSettings,
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  ObservedBuilder,
} from '../support/election-builders.ts';

const WALL_OFFSET_MS = Date.UTC(2026, 0, 1);

const older = makeCandidate('older').versions('1.35.0');
const newer = makeCandidate('newer').versions('1.36.0', '1.35.0');

/** Pinged, without the server having answered that yet. */
function onItsWay(candidate: CandidateBuilder, at: number): ObservedBuilder {
  return new ObservedBuilder(() => {
    const { candidate: seen, observation } = candidate.seenAt(0).build();
    return { candidate: seen, observation: recordPing(observation, 'election', at, defaultSettings) };
  }, defaultSettings);
}

describe('what is shown of a Lease', () => {
  test.each<{
    name: string;
    input: InputBuilder;
    at: number;
    want: Partial<LeaseEntry>;
    wantUntil: number | undefined;
  }>([
    {
      name: 'led by the best candidate, until its holder would be late',
      input: makeInput().sees(makeLease('older'), 0).candidates(older.seenAt(0), newer.seenAt(0)),
      at: 1000,
      want: {
        key: 'kube-system/scheduler',
        holder: 'older',
        isHeld: true,
        strategy: 'OldestEmulationVersion',
        reason: 'LeaderOptimal',
        verdict: 'older leads, as it is the best candidate under OldestEmulationVersion.',
        transitions: 0,
        candidates: [
          {
            name: 'older',
            binary: '1.35.0',
            emulation: '1.35.0',
            state: 'Live',
            isHolder: true,
            renewedAt: WALL_OFFSET_MS - 60_000,
          },
          {
            name: 'newer',
            binary: '1.36.0',
            emulation: '1.35.0',
            state: 'Idle',
            lostBy: 'HigherBinaryVersion',
            renewedAt: WALL_OFFSET_MS - 60_000,
          },
        ],
      },
      wantUntil: 7000,
    },
    {
      name: 'with the priorities of its candidates, until the first of them ends',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(newer.priority(5, 3000).seenAt(0), older.priority(-1).seenAt(0)),
      at: 1000,
      want: {
        verdict:
          'newer leads, as it is the best candidate under OldestEmulationVersion, for its higher priority.',
        candidates: [
          expect.objectContaining({ name: 'newer', priority: 5, priorityUntil: WALL_OFFSET_MS + 3000 }),
          expect.objectContaining({ name: 'older', priority: -1, lostBy: 'LowerPriority' }),
        ],
      },
      wantUntil: 3000,
    },
    {
      name: 'run out, since when, until its candidate has had time to answer',
      input: makeInput().sees(makeLease('older'), 0).candidates(newer.seenAt(0).pingedAt(12_000)),
      at: 12_000,
      want: { isHeld: false, isUnled: true, unledSince: WALL_OFFSET_MS + 10_000, reason: 'AwaitingAcks' },
      wantUntil: 17_000,
    },
    {
      name: 'run out, and looked at again soon while a ping is on its way',
      input: makeInput().sees(makeLease('older'), 0).candidates(onItsWay(newer, 12_000)),
      at: 12_000,
      want: { isHeld: false, isUnled: true, unledSince: WALL_OFFSET_MS + 10_000, reason: 'AwaitingAcks' },
      wantUntil: 13_000,
    },
    {
      name: 'held by one that is as good as another, which is older',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(
          newer.seenAt(0),
          newer.with({ name: 'first', uid: 'first' }).createdAt(-90_000).seenAt(0),
        ),
      at: 1000,
      want: {
        reason: 'LeaderOptimal',
        verdict: 'newer leads, as it is the best candidate under OldestEmulationVersion.',
        candidates: [
          expect.objectContaining({ name: 'newer', isHolder: true }),
          expect.objectContaining({ name: 'first', lostBy: 'AsGoodAsHolder' }),
        ],
      },
      wantUntil: 7000,
    },
    {
      name: 'missing, and nobody saw it go',
      input: makeInput().candidates(newer.seenAt(0).renewedAt(900)),
      at: 1000,
      want: {
        holder: '',
        isHeld: false,
        isUnled: true,
        reason: 'LeaseMissing',
        strategy: 'OldestEmulationVersion',
      },
      wantUntil: 5900,
    },
    {
      name: 'held on while another is preferred, by the second',
      input: makeInput()
        .sees(makeLease('newer').preferring('older'), 0)
        .candidates(older.seenAt(0).renewedAt(900), newer.seenAt(0)),
      at: 1000,
      want: {
        isHeld: true,
        preferredHolder: 'older',
        reason: 'PreemptionPending',
        waitingFor: 'newer to let it run out, in 9s',
      },
      wantUntil: 2000,
    },
    {
      name: 'left alone as the candidates disagree',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(
          newer.seenAt(0),
          newer.with({ name: 'other', uid: 'other' }).wants('x/y').seenAt(0).renewedAt(900),
        ),
      at: 1000,
      want: { isHeld: true, reason: 'StrategyConflict' },
      wantUntil: 5900,
    },
    {
      name: 'without candidates, held until it runs out',
      input: makeInput().sees(makeLease('gone'), 0),
      at: 1000,
      want: { holder: 'gone', isHeld: true, reason: 'NoCandidates', candidates: [] },
      wantUntil: 10_000,
    },
    {
      name: 'without candidates and run out, which is nobody to miss',
      input: makeInput().sees(makeLease('gone'), 0),
      at: 11_000,
      want: {
        holder: 'gone',
        isHeld: false,
        reason: 'NoCandidates',
        verdict: expect.stringContaining('Nobody leads'),
      },
      wantUntil: undefined,
    },
  ])('is one $name', ({ input, at, want, wantUntil }) => {
    const { entry, until } = lookAtLease(input.build(), makeNow(at), WALL_OFFSET_MS);
    expect(entry).toMatchObject(want);
    expect('isUnled' in entry).toBe(want.isUnled === true);
    expect('unledSince' in entry).toBe(want.unledSince !== undefined);
    expect(until).toBe(wantUntil);
  });

  test('stays the same as long as nothing happens, whatever the wall clock does', () => {
    const input = makeInput()
      .sees(makeLease('older'), 0)
      .candidates(older.seenAt(0), newer.seenAt(0))
      .build();
    const { entry } = lookAtLease(input, makeNow(1000.123), WALL_OFFSET_MS);
    expect(lookAtLease(input, makeNow(4321.9, 3_600_000), WALL_OFFSET_MS).entry).toEqual(entry);
  });
});

test('of more candidates than a page can show only the first are told one by one, the others by their states', () => {
  const many = Array.from({ length: MOST_CANDIDATES + 20 }, (_, at) =>
    makeCandidate(`c${at}`).versions(`1.36.${at}`).seenAt(0).renewedAt(900),
  );
  const input = makeInput()
    .candidates(...many)
    .build();
  const { entry } = lookAtLease(input, makeNow(1000), WALL_OFFSET_MS);
  expect(entry.candidates).toHaveLength(MOST_CANDIDATES);
  expect(entry.candidates[0]?.name).toBe('c0');
  expect(entry.more).toEqual({ Live: 20 });
});
