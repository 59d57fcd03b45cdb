/** The package's exports: taking part in an election. docs/participants.md explains how. */
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
