/**
 * The library's public face: taking part in an election, which docs/participants.md explains; and the election itself, as pure
 * functions that observe, decide and record, of which docs/library.md says when to call which.
 */
export { decodeLease } from './coordination/lease.ts';
export { decodeLeaseCandidate } from './coordination/lease-candidate.ts';
export { leasePatch, newLease, pingPatch, type RequestBody } from './coordination/lease-patch.ts';
export { formatMicroTime, parseMicroTime } from './coordination/micro-time.ts';
export type { RawObject } from './coordination/raw-object.ts';
export { type CandidateAccount, explainCandidates } from './election/candidate-accounts.ts';
export { type CandidateObservation, observeCandidate } from './election/candidate-observation.ts';
export { coordinatorLease } from './election/coordinator-lease.ts';
export { decideElection } from './election/decide.ts';
export type {
  Action,
  CreateLease,
  Decision,
  DeleteCandidate,
  LeaseChange,
  PingCandidate,
  Requeue,
  UpdateLease,
} from './election/decision.ts';
export { isLeaseWrite } from './election/decision-queries.ts';
export type { ElectionInput, ObservedCandidate } from './election/election-input.ts';
export { type LeaseMemory, noMemory } from './election/lease-memory.ts';
export type {
  ElectionSettings,
  Lease,
  LeaseCandidate,
  Priority,
  StrategyPreference,
} from './election/model.ts';
export { type Beginning, observeBeginning } from './election/observe-beginning.ts';
export { observeLease } from './election/observe-lease.ts';
export { REASONS, type Reason } from './election/reason.ts';
export {
  recordDecision,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
} from './election/record-action.ts';
export type { CandidateState, Standing } from './election/standing.ts';
export type { Tenure } from './election/tenure.ts';
export type { Instant, MicroTime, Now } from './election/time.ts';
export { type ClientOptions, createClient, type KubernetesClient } from './kubernetes/client.ts';
export { type KubeConfigSource, loadKubeConfig } from './kubernetes/kubeconfig.ts';
export { Candidate, type CandidateParts } from './participant/candidate.ts';
export type { CandidateDescription } from './participant/candidate-body.ts';
export { Elector } from './participant/elector.ts';
export type { ElectorTiming } from './participant/elector-decision.ts';
export type { ElectorParts } from './participant/elector-parts.ts';
export { Participant } from './participant/participant.ts';
export type { ParticipantLogger } from './participant/participant-log.ts';
export type { ParticipantState } from './participant/participant-state.ts';
export { participate } from './participant/participate.ts';
export type { ParticipateOptions } from './participant/participate-options.ts';
export { type Lead, type Term, type TermEnd, TermOver } from './participant/term.ts';
export type { Clock } from './support/clock.ts';
export { systemClock } from './support/system-clock.ts';
