import { readFileSync } from 'node:fs';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { connectParticipant } from '../../participant/participant-client.ts';
import type { ParticipateOptions } from '../../participant/participate-options.ts';
import {
  type CandidateLabels,
  labelsInFile,
  type ParticipateSettings,
} from '../../settings/participate-settings.ts';
import { withContext } from '../../support/files.ts';
import type { Environment, Host } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** How a command takes part: what its participant is given, cluster included. */
export interface Participation extends ParticipateOptions {
  readonly namespace: string;
  /** To be closed when all is over. */
  readonly client: KubernetesClient;
  readonly logger: Logger;
}

/**
 * What the settings and the environment make of it.
 *
 * @throws {Error} when there is no cluster to talk to, or the file of labels cannot be used.
 */
export function participationOf(
  lease: string,
  settings: ParticipateSettings,
  host: Host,
  logger: Logger,
): Participation {
  const { identity, binaryVersion, emulationVersion, strategy, priority } = settings;
  const { leaseDurationSeconds, renewDeadlineMs, retryPeriodMs, candidateOnly } = settings;
  const { client, namespace, podNamespace } = clusterOf(settings, host);
  const pod = podIn(host.env, podNamespace);
  const labels = labelsOf(settings.labels);
  return {
    client,
    namespace,
    lease,
    binaryVersion,
    priority,
    labels,
    leaseDurationMs: leaseDurationSeconds * 1000,
    renewDeadlineMs,
    retryPeriodMs,
    candidateOnly,
    clock: host.clock,
    logger,
    ...(identity !== undefined && { identity }),
    ...(emulationVersion !== undefined && { emulationVersion }),
    ...(strategy !== undefined && { strategy }),
    ...(pod && { pod }),
  };
}

/** As logs and answers have it. */
export function leaseOf({ namespace, lease }: Participation): string {
  return `${namespace}/${lease}`;
}

function clusterOf({ kubeconfig, context, namespace }: ParticipateSettings, { clock, env }: Host) {
  const userAgent = 'coordinated-leader-election-participate';
  const connected = connectParticipant({ kubeconfig, context, env, clock, userAgent });
  return { ...connected, namespace: namespace ?? connected.namespace };
}

/** As the downward API tells it, under the names that are customary; the service account tells the namespace, too. */
function podIn(
  { POD_NAME: name, POD_UID: uid, POD_NAMESPACE }: Environment,
  podNamespace: string | undefined,
): ParticipateOptions['pod'] {
  if (!name || !uid) return undefined;
  const namespace = POD_NAMESPACE || podNamespace;
  return { name, uid, ...(namespace !== undefined && { namespace }) };
}

function labelsOf(labels: CandidateLabels): Readonly<Record<string, string>> {
  if ('given' in labels) return labels.given;
  return withContext(`--labels @${labels.file}`, () => labelsInFile(readFileSync(labels.file, 'utf8')));
}
