/** Exports for programs that take part in an election. docs/reference/participants.md describes how to use them. */
export { type ClientOptions, createClient, type KubernetesClient } from './kubernetes/client.ts';
export { ApiError, ConnectionError } from './kubernetes/errors.ts';
export { KubeConfigError, type KubeConfigSource, loadKubeConfig } from './kubernetes/kubeconfig.ts';
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
