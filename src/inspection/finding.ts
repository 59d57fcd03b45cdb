/** How bad a finding is: elections fail; something will go wrong or is going wrong for one Lease; all is well. */
export type Severity = 'error' | 'warning' | 'ok';

/** What is examined. */
export type CheckName =
  | 'APIServed'
  | 'FeatureGate'
  | 'CoordinatorLock'
  | 'Permissions'
  | 'Clocks'
  | 'Candidates'
  | 'Leases'
  | 'Priorities';

/** One thing that was found out about a cluster. */
export interface Finding {
  readonly check: CheckName;
  readonly severity: Severity;
  readonly what: string;
  /** What it means; undefined where all is well. */
  readonly meaning?: string;
  /** What to do; undefined where nothing needs doing. */
  readonly advice?: string;
  /** The path of the runbook that helps, in this project's repository; undefined where there is none. */
  readonly runbook?: string;
}
