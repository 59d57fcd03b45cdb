/**
 * The library's public face: taking part in an election, which docs/participants.md explains; and the election itself, as pure
 * functions that observe, decide and record, of which docs/library.md says when to call which.
 */
export { decodeLease } from './coordination/lease.ts';
export { decodeLeaseCandidate } from './coordination/lease-candidate.ts';
export { leasePatch, newLease, pingPatch, type RequestBody } from './coordination/lease-patch.ts';
export { formatMicroTime, parseMicroTime } from './coordination/micro-time.ts';
export type { RawObject } from './coordination/raw-object.ts';
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
export { type Beginning, observeBeginning } from './election/former-holders.ts';
export { type LeaseMemory, noMemory } from './election/lease-memory.ts';
export {
  coordinatorLease,
  type ElectionSettings,
  type Instant,
  type Lease,
  type LeaseCandidate,
  type MicroTime,
  type Now,
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
export { type ClientOptions, createClient, type KubernetesClient } from './kubernetes/client.ts';
export { type KubeConfigSource, loadKubeConfig } from './kubernetes/kubeconfig.ts';
export { Candidate, type CandidateParts } from './participant/candidate.ts';
export type { CandidateDescription } from './participant/candidate-body.ts';
export { Elector, type ElectorParts } from './participant/elector.ts';
export type { ElectorTiming } from './participant/elector-decision.ts';
export { Participant, participate } from './participant/participant.ts';
export type { ParticipantState, ParticipateOptions } from './participant/participant-options.ts';
export type { ParticipantLogger } from './participant/participant-telemetry.ts';
export { type Lead, type Term, type TermEnd, TermOver } from './participant/term.ts';
export type { Clock } from './support/clock.ts';
export { systemClock } from './support/system-clock.ts';
