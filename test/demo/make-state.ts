import type { CandidateRow, DemoEvent, DemoState, LeaseState } from '../../src/demo/demo-state.ts';

const START = BigInt(Date.UTC(2026, 10, 21, 13, 24, 5, 123)) * 1000n;

/** A Lease that sample-3 holds. */
export function makeLease(fields: Partial<LeaseState> = {}): LeaseState {
  return {
    holder: 'sample-3',
    preferredHolder: '',
    strategy: 'OldestEmulationVersion',
    transitions: 0,
    durationMs: 4000,
    remainingMs: 3400,
    ...fields,
  };
}

/** A candidate that does nothing. */
export function makeRow(fields: Partial<CandidateRow> = {}): CandidateRow {
  return {
    name: 'sample-1',
    binaryVersion: '1.36.0',
    emulationVersion: '1.36.0',
    strategy: 'OldestEmulationVersion',
    condition: 'idle',
    ...fields,
  };
}

/** Events since the start, at these times; by default sample-3 leads. */
export function makeHappening(afterMs: number, fields: Partial<DemoEvent> = {}): DemoEvent {
  return { at: START + BigInt(afterMs * 1000), who: 'sample-3', text: 'leads', isTrouble: false, ...fields };
}

/** Three candidates, of which sample-3 leads. */
export function makeState(fields: Partial<DemoState> = {}): DemoState {
  return {
    leaseKey: 'default/demo',
    lease: makeLease(),
    candidates: [
      makeRow({
        name: 'sample-3',
        binaryVersion: '1.35.0',
        emulationVersion: '1.35.0',
        condition: 'leading',
      }),
      makeRow({ name: 'sample-2', emulationVersion: '1.35.0', condition: 'live' }),
      makeRow({ condition: 'awaiting' }),
    ],
    reason: 'LeaderOptimal',
    events: [
      makeHappening(0, { who: 'sample-1', text: 'starts: version 1.36.0, emulates 1.36.0' }),
      makeHappening(2, { who: 'coordinator', text: 'holds its lock, and decides' }),
      makeHappening(40, {
        who: 'coordinator',
        text: 'LeaseMissing: sample-3 leads under OldestEmulationVersion: LeaseMissing; not sample-1 (its emulationVersion is higher), sample-2 (its binaryVersion is higher)',
      }),
      makeHappening(41, { who: 'coordinator', text: 'LeaderOptimal: The best candidate leads.' }),
      makeHappening(420),
    ],
    ...fields,
  };
}
