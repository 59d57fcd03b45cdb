import { Registry } from 'prom-client';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import type { Host } from '../../support/host.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { CommandRun } from './command-run.ts';
import { type Participation, participationOf, serveHealth } from './participation.ts';

/** Signals that the wrapper forwards to the command. */
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
 * Takes part in the election of a Lease. With a command, this process is a wrapper that runs the command while its
 * candidate leads. Without a command, it is a sidecar. At the end, tries to release the Lease, if this process
 * holds it, and to delete the LeaseCandidate. Resolves to the exit code.
 * @throws {Error} if the kubeconfig or service account, the name of the Lease or a setting cannot be used.
 */
export async function runParticipant(
  lease: string,
  command: readonly string[],
  settings: ParticipateSettings,
  host: Host,
): Promise<number> {
  const isWrapper = command.length > 0;
  // The command uses the standard output, so the wrapper writes its logs to the standard error.
  const destination = isWrapper ? host.stderr : host.stdout;
  const logger = createLogger({ level: settings.logLevel, clock: host.clock, destination });
  const participation = participationOf(lease, settings, host, logger);
  try {
    if (isWrapper) return await runWrapper(command, settings, participation, host);
    // Load the code of the sidecar only here, because a wrapper does not need it.
    const { runSidecar } = await import('./sidecar.ts');
    return await runSidecar(settings, participation, host);
  } finally {
    await participation.client.close();
    logger.end();
  }
}

async function runWrapper(
  command: readonly string[],
  { leaseDurationSeconds, renewDeadlineMs, healthListen }: ParticipateSettings,
  participation: Participation,
  host: Host,
): Promise<number> {
  const { namespace, lease, logger } = participation;
  const leaseDurationMs = leaseDurationSeconds * 1000;
  const run = new CommandRun({ command, leaseDurationMs, renewDeadlineMs, host, logger });
  host.onSignals(SIGNALS, (signal) => run.signal(signal));
  const metrics = new Registry();
  const participant = new Participant({ ...participation, metrics }, run.lead);
  const health = healthListen && (await serveHealth(healthListen, host.clock, participant, metrics));
  const { identity } = participant;
  logger.info(
    { lease: `${namespace}/${lease}`, identity, healthListen: health?.address },
    'Takes part in the election',
  );
  try {
    await participant.run(run.stopping);
  } finally {
    await health?.close();
  }
  return run.exitCode;
}
