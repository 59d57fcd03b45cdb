import { get } from 'node:http';
import { Registry } from 'prom-client';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import { type Clock, sleep } from '../../support/clock.ts';
import type { Host } from '../../support/host.ts';
import { LeadConnections, MAX_PROMISE_MS } from './lead-connections.ts';
import { Leadership, startLeaderEndpoints, startSocketEndpoints } from './leader-endpoints.ts';
import { type Participation, serveHealth } from './participation.ts';

/**
 * Maximum interval of messages to a leading program, in milliseconds. Each message permits the program to lead for at
 * most MAX_PROMISE_MS. The next message must arrive before this permission ends.
 */
const REPEAT_INTERVAL_MS = 2000;

/**
 * Takes part in the election for another program of the same pod, and tells that program which candidate leads. With
 * `candidateOnly`, only publishes the LeaseCandidate. Resolves to the exit code.
 * @throws {Error} if an address cannot be used, or if the participant fails.
 */
export async function runSidecar(
  settings: ParticipateSettings,
  participation: Participation,
  host: Host,
): Promise<number> {
  const { clock } = host;
  const { logger } = participation;
  const { candidateOnly, readyUrl, healthListen, socket, leadByConnection } = settings;
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const metrics = new Registry();
  const lease = `${participation.namespace}/${participation.lease}`;
  const connections = leadByConnection
    ? new LeadConnections({
        clock,
        lease,
        repeatMs: Math.min(REPEAT_INTERVAL_MS, settings.retryPeriodMs),
        logger,
        resign: () => void participant.resign(),
        onChange: () => joinOrWithdraw(),
      })
    : undefined;
  const leadership = new Leadership({
    clock,
    lease,
    identity: () => participant.identity,
    holder: () => participant.state.holder,
    connections,
  });
  // If an earlier run still holds the Lease, do not write at once: a program may still lead by a permission of that run.
  const options = { ...participation, metrics, resumeDelayMs: MAX_PROMISE_MS };
  const participant: Participant = new Participant(options, leadership.lead);
  let isReady = readyUrl === undefined;
  const canLead = () => isReady && (connections?.hasProgram ?? true);
  const joinOrWithdraw = () => {
    if (canLead()) participant.stand();
    // Ignore the error: `participant.run()` rejects with the same error.
    else participant.withdraw().catch(() => {});
  };

  const parts = { clock, leadership, connections, metrics, resign: () => participant.resign() };
  const listen = candidateOnly ? undefined : settings.listen;
  const server = listen && (await startLeaderEndpoints(listen, parts));
  const socketServer = socket === undefined ? undefined : await startSocketEndpoints(socket, parts);
  const health = healthListen && (await serveHealth(healthListen, clock, participant, metrics));
  const { identity } = participant;
  const addresses = { listen: server?.address, socket, healthListen: health?.address };
  logger.info({ lease, identity, ...addresses }, 'Takes part in the election');

  const endPauseWatch = connections?.watchPauses();
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  const readiness =
    readyUrl &&
    watchReadiness(() => answersOk(readyUrl, clock, signal), {
      clock,
      signal,
      onChange: (isNowReady) => {
        logger.info({ url: readyUrl.href, isReady: isNowReady }, 'The readiness of the program has changed');
        isReady = isNowReady;
        joinOrWithdraw();
      },
    });
  try {
    // Do not be a candidate until the program is ready (`readyUrl`) and asks for the lead (`leadByConnection`).
    if (!canLead()) await participant.withdraw();
    await participant.run(stop);
  } finally {
    ended.abort();
    endPauseWatch?.();
    await readiness;
    await Promise.all([server?.close(), socketServer?.close(), health?.close()]);
  }
  return 0;
}

/**
 * Number of consecutive failed checks after which a program counts as not ready. The kubelet's default for probes is
 * the same.
 */
const FAILURES = 3;
const PERIOD_MS = 2000;
/** Timeout of one readiness request, in milliseconds. */
const TIMEOUT_MS = 1500;

interface ReadinessParts {
  readonly clock: Clock;
  /** When this signal aborts, the checks end. */
  readonly signal: AbortSignal;
  /** Called when the readiness changes. The program counts as not ready until its first good answer. */
  readonly onChange: (isReady: boolean) => void;
}

/** Calls `ask`, the readiness check of the program, periodically until `signal` aborts. */
export async function watchReadiness(
  ask: () => Promise<boolean>,
  { clock, signal, onChange }: ReadinessParts,
): Promise<void> {
  let failures = FAILURES;
  while (!signal.aborted) {
    const wasReady = failures < FAILURES;
    failures = (await ask()) ? 0 : failures + 1;
    if (signal.aborted) return;
    const isReady = failures < FAILURES;
    if (isReady !== wasReady) onChange(isReady);
    await sleep(clock, PERIOD_MS, signal);
  }
}

function answersOk(url: URL, clock: Clock, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(url, { signal, agent: false }, ({ statusCode = 0 }) => {
      resolve(statusCode >= 200 && statusCode < 300);
      // Only the status matters. Do not read the body.
      asked.destroy();
    });
    const cancel = clock.setTimer(() => asked.destroy(), TIMEOUT_MS);
    asked.on('error', () => {});
    asked.on('close', () => {
      cancel();
      resolve(false);
    });
  });
}
