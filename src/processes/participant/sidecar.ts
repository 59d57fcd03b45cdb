import { Registry } from 'prom-client';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import { withContext } from '../../support/files.ts';
import type { Host } from '../../support/host.ts';
import { startLeaderEndpoints } from './leader-endpoints.ts';
import { keepLeaderFile } from './leader-file.ts';
import { Leadership } from './leadership.ts';
import { serveHealth } from './participant-health.ts';
import { leaseOf, type Participation } from './participation.ts';
import { watchReadiness } from './readiness.ts';

/**
 * Takes part for a program beside this one, and tells it who leads; or is but its candidate. Resolves to the exit code.
 *
 * @throws {Error} when an address or a file cannot be used, or taking part has failed.
 */
export async function runSidecar(
  settings: ParticipateSettings,
  participation: Participation,
  host: Host,
): Promise<number> {
  const { clock } = host;
  const { logger } = participation;
  const { candidateOnly, file, readyUrl, healthListen } = settings;
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const metrics = new Registry();
  const leadership: Leadership = new Leadership({
    clock,
    lease: leaseOf(participation),
    identity: () => participant.identity,
  });
  const participant = new Participant(
    { ...participation, metrics, onObserved: leadership.observe },
    leadership.lead,
  );

  const endFile =
    file === undefined
      ? undefined
      : withContext(`--file ${file}`, () =>
          keepLeaderFile({
            file,
            leadership,
            clock,
            onFailure: (error) => logger.error({ err: error, file }, 'Cannot write the file'),
          }),
        );
  const listen = candidateOnly ? undefined : settings.listen;
  const server =
    listen &&
    (await startLeaderEndpoints(listen, { clock, leadership, metrics, resign: () => participant.resign() }));
  const health = healthListen && (await serveHealth(healthListen, { clock, participant, metrics }));
  const { identity } = participant;
  logger.info(
    {
      lease: leaseOf(participation),
      identity,
      listen: server?.address,
      healthListen: health?.address,
      file,
    },
    'Standing',
  );

  const ended = new AbortController();
  const readiness =
    readyUrl &&
    watchReadiness(readyUrl, {
      clock,
      signal: AbortSignal.any([stop, ended.signal]),
      onChange: (isReady) => {
        logger.info({ url: readyUrl.href, isReady }, 'The program has changed');
        if (isReady) participant.stand();
        // It resolves when all is released; whoever stops meanwhile does the same.
        else participant.withdraw().catch(() => {});
      },
    });
  try {
    // Not before it is well.
    if (readyUrl) await participant.withdraw();
    await participant.run(stop);
  } finally {
    ended.abort();
    await readiness;
    endFile?.();
    await Promise.all([server?.close(), health?.close()]);
  }
  return 0;
}
