/** The timing of Leases, as passed to client-go. */
export interface LeaseTiming {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** A Lease that programs compete for. */
export interface TestedLease {
  readonly namespace: string;
  readonly name: string;
  readonly timing: LeaseTiming;
}

const slow: LeaseTiming = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
const quick: LeaseTiming = { leaseDurationMs: 6_000, renewDeadlineMs: 4_000, retryPeriodMs: 1_000 };

/** In two namespaces, with Kubernetes' own timing and with a faster one, which produces more events. */
export const testedLeases: readonly TestedLease[] = [
  { namespace: 'default', name: 'slow', timing: slow },
  { namespace: 'default', name: 'quick', timing: quick },
  { namespace: 'other', name: 'slow', timing: slow },
  { namespace: 'other', name: 'quick', timing: quick },
];

export const PROGRAMS_PER_LEASE = 3;
export const COORDINATORS = 3;
export const API_SERVERS = ['a', 'b'] as const;

/** The versions of candidates. All have the same binary version. */
export const BINARY_VERSION = '1.36.0';
export const EMULATION_VERSIONS = ['1.34.0', '1.35.0', '1.36.0'] as const;

export function keyOf({ namespace, name }: Pick<TestedLease, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
