import type { ElectorTiming } from '../participant/elector-decision.ts';

/** Who a sample candidate is, and what it asks for. */
export interface SampleIdentity {
  readonly namespace: string;
  readonly leaseName: string;
  /** Of its LeaseCandidate, and what it calls itself as a holder. */
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
}

/** What a real candidate's program has as flags, and how long it takes to stop leading. */
export interface SampleTiming extends ElectorTiming {
  /** From when it is told that it leads no longer until it has stopped, in milliseconds. */
  readonly stoppingMs: number;
}
