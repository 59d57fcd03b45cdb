import type { Registry } from 'prom-client';
import { connectParticipant, type Participant } from '../../participant/participant.ts';
import type { ParticipantOptions } from '../../participant/participant-options.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import type { ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import type { Host } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { type HttpServer, startHttpServer } from '../http-server.ts';

/** The options of a participant, with the client for its cluster. `runParticipant` closes this client. */
export interface Participation extends ParticipantOptions {
  readonly namespace: string;
  readonly logger: Logger;
}

/**
 * Builds the options of a participant from the settings and the environment.
 * @throws {Error} if there is no usable kubeconfig or service account.
 */
export function participationOf(
  lease: string,
  settings: ParticipateSettings,
  { clock, env }: Host,
  logger: Logger,
): Participation {
  // Some settings in `options`, such as `healthListen`, are not options of a participant. The participant ignores them.
  const { kubeconfig, context, namespace, leaseDurationSeconds, ...options } = settings;
  const userAgent = 'coordinated-leader-election-participate';
  const source = { kubeconfig, context, env, clock, userAgent, namespace };
  const { podNamespace, ...connection } = connectParticipant(source);
  // Manifests usually set these variables with the downward API. The default of POD_NAMESPACE is the namespace of the
  // service account. With a kubeconfig, there is no default.
  const { POD_NAME: name, POD_UID: uid, POD_NAMESPACE } = env;
  return {
    ...options,
    ...connection,
    lease,
    pod: name && uid ? { name, uid, namespace: POD_NAMESPACE || podNamespace } : undefined,
    leaseDurationMs: leaseDurationSeconds * 1000,
    clock,
    logger,
  };
}

/**
 * Serves health checks and metrics. The participant is ready after the first publication of its LeaseCandidate, except
 * from a call of `withdraw` until a call of `stand`. It stays ready while it does not lead or cannot reach the API server.
 * @throws {Error} with the address, if the server cannot listen on it.
 */
export function serveHealth(
  listen: ListenAddress,
  clock: Clock,
  participant: Participant,
  metrics: Registry,
): Promise<HttpServer> {
  let isPublished = false;
  void participant.published.then(() => {
    isPublished = true;
  });
  return startHttpServer(listen, {
    clock,
    metrics,
    readinessChecks() {
      const { isStanding } = participant.state;
      if (isPublished && isStanding) return [{ name: 'candidate', ok: true }];
      const message = isStanding
        ? 'the LeaseCandidate is not published yet'
        : 'the LeaseCandidate is withdrawn';
      return [{ name: 'candidate', ok: false, message }];
    },
  });
}
