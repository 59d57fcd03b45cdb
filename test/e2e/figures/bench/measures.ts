import type { ContestantName } from './contestant.ts';

/** All measures. Waits are in milliseconds, many for each run; each run has one value of the others. */
export const measures = {
  first: { unit: 'wait', what: 'first elections: from the first candidate to the first holder' },
  firstBest: { unit: 'wait', what: '... from the best candidate’s appearance until it holds' },
  firstWrites: { unit: 'count', what: '... writes per election' },
  stale: {
    unit: 'wait',
    what: 'first elections, candidates not fresh: from the first one to the first holder',
  },
  staleBest: { unit: 'wait', what: '... from the best candidate’s appearance until it holds' },
  staleWrites: { unit: 'count', what: '... writes per election' },
  release: { unit: 'wait', what: 'from a clean release to the new holder' },
  releaseWrites: { unit: 'count', what: '... writes per election' },
  death: { unit: 'wait', what: 'from a dead holder’s expiry to the new holder' },
  deathWrites: { unit: 'count', what: '... writes per election' },
  cold: { unit: 'wait', what: 'elections 1 to 20 of a process, one every 100 ms' },
  warm: { unit: 'wait', what: '... elections 101 to 120' },
  ready: { unit: 'ms', what: 'from the start of the process to ready' },
  held: { unit: 'ms', what: '... longest time that the event loop was held meanwhile' },
  heldCpu: { unit: 'ms', what: '... of that, processor time' },
  rss: { unit: 'bytes', what: 'resident memory after 20 s at rest' },
  peakRss: { unit: 'bytes', what: '... its peak since the start' },
  heap: { unit: 'bytes', what: '... heap in use' },
  steadyWrites: { unit: 'count', what: 'writes while all Leases are renewed every 2 s' },
  steadyCpus: { unit: 'cores', what: '... share of a core that it uses' },
} as const satisfies Readonly<Record<string, { readonly unit: string; readonly what: string }>>;

export type Measure = keyof typeof measures;

/** The result of one run: one contestant on one control plane. */
export interface Sample {
  readonly contestant: ContestantName;
  /** Number of Leases, with five candidates each. */
  readonly leases: number;
  readonly round: number;
  readonly measure: Measure;
  /** A wait without a result is Infinity. */
  readonly values: readonly number[];
}

/** The result of a run, without its parameters. */
export type Measured = Partial<Record<Measure, readonly number[]>>;
