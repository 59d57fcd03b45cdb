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

/** What a real candidate's program has as flags. */
export interface SampleTiming {
  /** How often it looks at the Lease, and renews it while it leads, in milliseconds. */
  readonly retryPeriodMs: number;
  /** How long it goes on leading without a renewal, in milliseconds. */
  readonly renewDeadlineMs: number;
  /** What it writes into the Lease when it renews. */
  readonly leaseDurationSeconds: number;
  /** How often it renews its LeaseCandidate without being asked, in milliseconds. */
  readonly candidateRenewalMs: number;
}
