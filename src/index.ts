/** The package's exports, for programs that take part in an election. See docs/participants.md. */
export { type ClientOptions, createClient, type KubernetesClient } from './kubernetes/client.ts';
export { ApiError, ConnectionError } from './kubernetes/errors.ts';
export { KubeConfigError, type KubeConfigSource, loadKubeConfig } from './kubernetes/kubeconfig.ts';
export { Candidate, type CandidateParts } from './participant/candidate.ts';
export type { CandidateDescription } from './participant/candidate-body.ts';
export { Elector, type ElectorParts } from './participant/elector.ts';
export type { ElectorTiming } from './participant/elector-decision.ts';
export { connectParticipant, Participant, participate } from './participant/participant.ts';
export type {
  ParticipantOptions,
  ParticipantState,
  ParticipateOptions,
} from './participant/participant-options.ts';
export type { ParticipantLogger } from './participant/participant-telemetry.ts';
export { type Lead, type Term, type TermEnd, TermOver } from './participant/term.ts';
export type { Clock } from './support/clock.ts';
export { systemClock } from './support/system-clock.ts';
