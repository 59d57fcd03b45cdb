import { decoderTargets } from './decoders.ts';
import { electionTarget } from './election.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { kubeconfigTarget } from './kubeconfig.ts';
import { connectionTarget, largeRequestTarget, serverTarget } from './server.ts';

/** All code that reads untrusted input. */
export const fuzzTargets: readonly FuzzTarget[] = [
  ...decoderTargets,
  kubeconfigTarget,
  electionTarget,
  serverTarget,
  largeRequestTarget,
  connectionTarget,
];
