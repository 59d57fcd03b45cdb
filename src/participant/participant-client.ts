import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { namespaceOf, podNamespaceOf } from '../kubernetes/cluster-config.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { Clock } from '../support/clock.ts';
import { type Environment, version } from '../support/host.ts';

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
  /** Where a pod's service account is mounted, for tests. */
  readonly serviceAccountDirectory?: string;
}

/** A participant's client, and what the configuration of its cluster tells. */
export interface ParticipantConnection {
  readonly client: KubernetesClient;
  /** The namespace that is meant where none is named. */
  readonly namespace: string;
  /** The namespace of the Pod that this program runs in; undefined: not known, or in another cluster. */
  readonly podNamespace: string | undefined;
}

/**
 * Makes a participant's client.
 *
 * @throws KubeConfigError when there is no cluster to talk to.
 */
export function connectParticipant(parts: ParticipantClientParts): ParticipantConnection {
  const { clock, userAgent, ...source } = parts;
  const kubeConfig = loadKubeConfig(source);
  const client = createClient({
    kubeConfig,
    clock,
    userAgent: `${userAgent}/${version}`,
    connections: CONNECTIONS,
    isLean: true,
  });
  return { client, namespace: namespaceOf(kubeConfig), podNamespace: podNamespaceOf(kubeConfig) };
}
