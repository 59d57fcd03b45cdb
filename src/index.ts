/** The library's public face: decide elections, and explain them, from data of your own. */
export { decodeLease } from './coordination/lease.ts';
export { decodeLeaseCandidate } from './coordination/lease-candidate.ts';
export { formatMicroTime, parseMicroTime } from './coordination/micro-time.ts';
export { type CandidateAccount, explainCandidates } from './election/candidate-accounts.ts';
export { observeCandidate, recordPing, recordPingDelivered } from './election/candidate-observation.ts';
export { coordinatorLease } from './election/coordinator-lease.ts';
export { decideElection } from './election/decide.ts';
export type { Action, Decision, Reason, Requeue } from './election/decision.ts';
export type { ElectionInput, ObservedCandidate } from './election/election-input.ts';
export { type LeaseMemory, noMemory } from './election/lease-memory.ts';
export type { ElectionSettings, Lease, LeaseCandidate, StrategyPreference } from './election/model.ts';
export { observeLease } from './election/observe-lease.ts';
export type { Instant, MicroTime, Now } from './election/time.ts';
