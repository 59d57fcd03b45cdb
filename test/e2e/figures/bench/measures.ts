import type { ContestantName } from './contestant.ts';

/** Everything that is measured. Waits are in milliseconds, many for each run; of the others each run has one. */
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
  mostRss: { unit: 'bytes', what: '... its peak since the start' },
  heap: { unit: 'bytes', what: '... heap in use' },
  steadyWrites: { unit: 'count', what: 'writes while all Leases are renewed every 2 s' },
  steadyCpus: { unit: 'cores', what: '... share of a core that it uses' },
} as const satisfies Readonly<Record<string, { readonly unit: string; readonly what: string }>>;

export type Measure = keyof typeof measures;

/** What one run has brought: one contestant on one control plane. */
export interface Sample {
  readonly contestant: ContestantName;
  /** How many Leases there were, of five candidates each. */
  readonly leases: number;
  readonly round: number;
  readonly measure: Measure;
  /** A wait that came to nothing is Infinity. */
  readonly values: readonly number[];
}

/** What a run has brought, without what it was a run of. */
export type Measured = Partial<Record<Measure, readonly number[]>>;
