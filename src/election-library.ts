/**
 * Exports of `coordinated-leader-election/election`: pure functions that observe Leases and candidates, decide an
 * election, and record the writes of a decision. docs/reference/library.md says when to call each function.
 */
export { decodeLease } from './coordination/lease.ts';
export { decodeLeaseCandidate } from './coordination/lease-candidate.ts';
export { leasePatch, newLease, pingPatch, type RequestBody } from './coordination/lease-patch.ts';
export { formatMicroTime, parseMicroTime } from './coordination/micro-time.ts';
export { type CandidateObservation, observeCandidate } from './election/candidate-observation.ts';
export { decideElection } from './election/decide.ts';
export {
  type Action,
  type CandidateAccount,
  type CreateLease,
  type Decision,
  type DeleteCandidate,
  explainCandidates,
  isLeaseWrite,
  type LeaseChange,
  type PingCandidate,
  REASONS,
  type Reason,
  type Requeue,
  type UpdateLease,
} from './election/decision.ts';
export { type Beginning, observeBeginning, observeWatchEnd } from './election/former-holders.ts';
export { type LeaseMemory, noMemory } from './election/lease-memory.ts';
export {
  coordinatorLease,
  type ElectionSettings,
  type Instant,
  type Lease,
  type LeaseCandidate,
  type MicroTime,
  type Now,
  nowAt,
  type Priority,
  type StrategyPreference,
} from './election/model.ts';
export { observeLease } from './election/observe-lease.ts';
export {
  recordDecision,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from './election/record-action.ts';
export type { CandidateState, ElectionInput, ObservedCandidate, Standing, Tenure } from './election/view.ts';
export type { KubernetesObject } from './kubernetes/objects.ts';
