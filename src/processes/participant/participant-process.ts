import { readFileSync } from 'node:fs';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateOptions } from '../../participant/participate-options.ts';
import { type CandidateLabels, labelsInFile } from '../../settings/candidate-labels.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import type { Environment, Host } from '../../support/host.ts';
import { withContext } from '../../support/with-context.ts';
import { createLogger, type RootLogger } from '../../telemetry/logger.ts';
import { CommandRun } from './command-run.ts';

/** The ones that a program may expect, from the start: what they mean is the command's business. */
const SIGNALS: readonly NodeJS.Signals[] = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
];

/**
 * Takes part in the election of a Lease: for a command that runs while this candidate leads, or for a program beside this
 * one. Resolves to the exit code, once the Lease is released and the candidate deleted.
 *
 * @throws {Error} when there is no cluster to talk to, or an address, a file or an identity cannot be used.
 */
export async function runParticipant(
  lease: string,
  command: readonly string[],
  settings: ParticipateSettings,
  host: Host,
): Promise<number> {
  const isWrapper = command.length > 0;
  // The standard output is the command's.
  const destination = isWrapper ? host.stderr : host.stdout;
  const logger = createLogger({ level: settings.logLevel, clock: host.clock, destination });
  const options = optionsOf(lease, settings, host, logger);
  try {
    if (isWrapper) return await runWrapper(command, settings, options, host, logger);
    const { runSidecar } = await import('./sidecar.ts');
    return await runSidecar(settings, options, host, logger);
  } finally {
    logger.end();
  }
}

async function runWrapper(
  command: readonly string[],
  { restart, leaseDurationSeconds }: ParticipateSettings,
  options: ParticipateOptions,
  host: Host,
  logger: RootLogger,
): Promise<number> {
  const leaseDurationMs = leaseDurationSeconds * 1000;
  const run = new CommandRun({ command, restart, leaseDurationMs, host, logger });
  host.onSignals(SIGNALS, (signal) => run.signal(signal));
  const participant = new Participant(options, run.lead);
  run.participant = participant;
  logger.info({ lease: options.lease, identity: participant.identity }, 'Standing');
  await participant.run(run.stopping);
  return run.exitCode;
}

function optionsOf(
  lease: string,
  settings: ParticipateSettings,
  { clock, env }: Host,
  logger: RootLogger,
): ParticipateOptions {
  const { kubeconfig, context, namespace, identity, binaryVersion, emulationVersion, strategy } = settings;
  const { priority, leaseDurationSeconds, renewDeadlineMs, retryPeriodMs, candidateOnly } = settings;
  const pod = podIn(env);
  return {
    lease,
    binaryVersion,
    priority,
    labels: labelsOf(settings.labels),
    leaseDurationMs: leaseDurationSeconds * 1000,
    renewDeadlineMs,
    retryPeriodMs,
    candidateOnly,
    clock,
    logger,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(namespace !== undefined && { namespace }),
    ...(identity !== undefined && { identity }),
    ...(emulationVersion !== undefined && { emulationVersion }),
    ...(strategy !== undefined && { strategy }),
    ...(pod && { pod }),
  };
}

/** As the downward API tells it, under the names that are customary. */
function podIn({ POD_NAME: name, POD_UID: uid }: Environment): { name: string; uid: string } | undefined {
  return name && uid ? { name, uid } : undefined;
}

function labelsOf(labels: CandidateLabels): Readonly<Record<string, string>> {
  if ('given' in labels) return labels.given;
  return withContext(`--labels @${labels.file}`, () => labelsInFile(readFileSync(labels.file, 'utf8')));
}
