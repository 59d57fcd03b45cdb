import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { namespaceOf } from '../kubernetes/cluster-config.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { Clock } from '../support/clock.ts';
import type { Environment } from '../support/host.ts';
import { version } from '../support/package-version.ts';

/** How many requests are under way at once: of the elector, and of the candidate in two groups. */
const CONNECTIONS = 4;

/** To which cluster a participant connects, and as what. */
export interface ParticipantClientParts {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly env: Environment;
  readonly clock: Clock;
  /** Under which name, without its version, the API server's logs have it. */
  readonly userAgent: string;
}

/**
 * Makes a participant's client, and tells the namespace that is meant where none is named.
 *
 * @throws KubeConfigError when there is no cluster to talk to.
 */
export function connectParticipant({ kubeconfig, context, env, clock, userAgent }: ParticipantClientParts): {
  readonly client: KubernetesClient;
  readonly namespace: string;
} {
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const client = createClient({
    kubeConfig,
    clock,
    userAgent: `${userAgent}/${version}`,
    connections: CONNECTIONS,
    isLean: true,
  });
  return { client, namespace: namespaceOf(kubeConfig) };
}
