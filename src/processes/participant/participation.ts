import type { KubernetesClient } from '../../kubernetes/client.ts';
import { connectParticipant, type Participant } from '../../participant/participant.ts';
import type { ParticipateOptions } from '../../participant/participant-options.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import type { ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import type { Host } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type HttpServer, startHttpServer } from '../http-server.ts';

/** The options of a participant, and its connection to the cluster. */
export interface Participation extends ParticipateOptions {
  readonly namespace: string;
  /** The connection. The caller closes it. */
  readonly client: KubernetesClient;
  readonly logger: Logger;
}

/**
 * Builds the options from the settings and the environment.
 *
 * @throws {Error} if there is no cluster.
 */
export function participationOf(
  lease: string,
  settings: ParticipateSettings,
  { clock, env }: Host,
  logger: Logger,
): Participation {
  const { kubeconfig, context, identity, binaryVersion, emulationVersion, strategy, priority } = settings;
  const { labels, leaseDurationSeconds, renewDeadlineMs, retryPeriodMs, candidateOnly } = settings;
  const userAgent = 'coordinated-leader-election-participate';
  const source = { kubeconfig, context, env, clock, userAgent, namespace: settings.namespace };
  const { client, namespace, podNamespace } = connectParticipant(source);
  // The usual environment variables of the downward API. The namespace may come from the service account.
  const { POD_NAME: name, POD_UID: uid, POD_NAMESPACE } = env;
  return {
    client,
    namespace,
    lease,
    identity,
    binaryVersion,
    emulationVersion,
    strategy,
    priority,
    labels,
    pod: name && uid ? { name, uid, namespace: POD_NAMESPACE || podNamespace } : undefined,
    leaseDurationMs: leaseDurationSeconds * 1000,
    renewDeadlineMs,
    retryPeriodMs,
    candidateOnly,
    clock,
    logger,
  };
}

/** Formats the name of the Lease for logs and answers. */
export function leaseOf({ namespace, lease }: Participation): string {
  return `${namespace}/${lease}`;
}

interface ParticipantHealthParts {
  readonly clock: Clock;
  readonly participant: Pick<Participant, 'published' | 'state'>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

/**
 * Serves health checks. A participant is ready after its LeaseCandidate is published, whether it leads or
 * not. A temporary loss of the API server does not affect its health.
 * @throws {Error} with the address and advice, if the server cannot listen on it.
 */
export function serveHealth(
  listen: ListenAddress,
  { clock, participant, metrics }: ParticipantHealthParts,
): Promise<HttpServer> {
  let isPublished = false;
  void participant.published.then(() => {
    isPublished = true;
  });
  return startHttpServer(listen, {
    clock,
    metrics,
    livenessChecks: () => [],
    readinessChecks: () => {
      const { isStanding } = participant.state;
      if (isPublished && isStanding) return [{ name: 'candidate', ok: true }];
      const message = isStanding ? 'the LeaseCandidate is not published yet' : 'it is withdrawn';
      return [{ name: 'candidate', ok: false, message }];
    },
  });
}
