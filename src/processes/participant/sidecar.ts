import { get } from 'node:http';
import { Registry } from 'prom-client';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import type { ListenAddress } from '../../support/address.ts';
import { type Clock, sleep } from '../../support/clock.ts';
import { withContext, writeWholeFile } from '../../support/files.ts';
import type { Host } from '../../support/host.ts';
import { type HttpServer, startHttpServer } from '../http-server.ts';
import { LeadConnections } from './lead-connections.ts';
import { startLeaderEndpoints, startSocketEndpoints } from './leader-endpoints.ts';
import { Leadership, leaseOf, MAX_PROMISE_MS, type Participation, REPEAT_INTERVAL_MS } from './leadership.ts';

/**
 * Takes part for the program in the same pod and reports to it which candidate leads. With `candidateOnly`,
 * only publishes the candidate. Resolves to the exit code.
 * @throws {Error} if an address or a file cannot be used, or if the participant fails.
 */
export async function runSidecar(
  settings: ParticipateSettings,
  participation: Participation,
  host: Host,
): Promise<number> {
  const { clock } = host;
  const { logger } = participation;
  const { candidateOnly, file, readyUrl, healthListen, socket, leadByConnection } = settings;
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const metrics = new Registry();
  const lease = leaseOf(participation);
  const connections = leadByConnection
    ? new LeadConnections({
        clock,
        lease,
        repeatMs: Math.min(REPEAT_INTERVAL_MS, settings.retryPeriodMs),
        logger,
        resign: () => void participant.resign(),
        onChange: () => standOrWithdraw(),
      })
    : undefined;
  const leadership: Leadership = new Leadership({
    clock,
    lease,
    identity: () => participant.identity,
    connections,
  });
  const resumeDelayMs = leadByConnection ? MAX_PROMISE_MS : 0;
  const participant = new Participant(
    { ...participation, metrics, resumeDelayMs, onObserved: leadership.observe },
    leadership.lead,
  );
  let isReady = readyUrl === undefined;
  const canLead = () => isReady && (connections?.hasProgram ?? true);
  const standOrWithdraw = () => {
    if (canLead()) participant.stand();
    // If the process stops in the meantime, the stop also releases the Lease.
    else participant.withdraw().catch(() => {});
  };

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
  const parts = { clock, leadership, connections, metrics, resign: () => participant.resign() };
  const listen = candidateOnly ? undefined : settings.listen;
  const server = listen && (await startLeaderEndpoints(listen, parts));
  const socketServer = socket === undefined ? undefined : await startSocketEndpoints(socket, parts);
  const health = healthListen && (await serveHealth(healthListen, { clock, participant, metrics }));
  const { identity } = participant;
  const addresses = { listen: server?.address, socket, healthListen: health?.address };
  logger.info({ lease, identity, ...addresses, file }, 'Standing');

  const ended = new AbortController();
  const readiness =
    readyUrl &&
    watchReadiness(readyUrl, {
      clock,
      signal: AbortSignal.any([stop, ended.signal]),
      onChange: (isNowReady) => {
        logger.info({ url: readyUrl.href, isReady: isNowReady }, 'The program has changed');
        isReady = isNowReady;
        standOrWithdraw();
      },
    });
  try {
    // Do not become a candidate before the program is ready and asks for leadership.
    if (!canLead()) await participant.withdraw();
    await participant.run(stop);
  } finally {
    ended.abort();
    await readiness;
    endFile?.();
    await Promise.all([server?.close(), socketServer?.close(), health?.close()]);
  }
  return 0;
}

interface LeaderFileParts {
  readonly file: string;
  readonly leadership: Leadership;
  readonly clock: Clock;
  /** Called for a write that fails after a successful one. */
  readonly onFailure: (error: unknown) => void;
}

/** Interval of writes while this candidate leads, in milliseconds. The content must not expire while it is true. */
const WRITE_INTERVAL_MS = 1000;

/**
 * Keeps a file with the leader and the time until which this information is valid. Writes are atomic.
 * @returns a function that stops the updates. Afterwards the file says that this candidate does not lead.
 * @throws {Error} if the first write fails.
 */
export function keepLeaderFile({ file, leadership, clock, onFailure }: LeaderFileParts): () => void {
  let cancel = () => {};
  let hasFailed = false;

  const write = () => {
    cancel();
    const account = leadership.account();
    const text = `${JSON.stringify({ ...account, validUntil: wallTimeIn(account.validForMs, clock) })}\n`;
    // Readable by all users: the program often runs as another user.
    writeWholeFile(file, `${file}.new`, text, { mode: 0o644 });
    if (account.leading) cancel = clock.setTimer(writeOrTell, WRITE_INTERVAL_MS);
  };
  const writeOrTell = () => {
    try {
      write();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFailure(error);
      hasFailed = true;
      cancel = clock.setTimer(writeOrTell, WRITE_INTERVAL_MS);
    }
  };

  write();
  const forget = leadership.onChange(writeOrTell);
  return () => {
    forget();
    writeOrTell();
    cancel();
  };
}

/** The readiness of the program, according to its answers to health checks. */
interface Readiness {
  readonly isReady: boolean;
  /** Consecutive failures. */
  readonly failures: number;
}

/** The state before the first answer. */
export const initialReadiness: Readiness = { isReady: false, failures: 0 };

/** Consecutive failures after which a program is not ready, as in kubelet probes. */
const FAILURES = 3;
const PERIOD_MS = 2000;

/** Timeout of a request, in milliseconds. */
const TIMEOUT_MS = 1500;

/** Returns the readiness after another answer. */
export function nextReadiness({ isReady, failures }: Readiness, isOk: boolean): Readiness {
  if (isOk) return { isReady: true, failures: 0 };
  return { isReady: isReady && failures + 1 < FAILURES, failures: failures + 1 };
}

export interface ParticipantHealthParts {
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

function wallTimeIn(ms: number, clock: Clock): string {
  return new Date(Number(clock.wallTime() / 1000n) + ms).toISOString();
}

/** Polls `url` until `signal` aborts. Reports each change. */
async function watchReadiness(
  url: URL,
  { clock, signal, onChange }: { clock: Clock; signal: AbortSignal; onChange: (isReady: boolean) => void },
): Promise<void> {
  let readiness = initialReadiness;
  while (!signal.aborted) {
    const next = nextReadiness(readiness, await answersOk(url, clock, signal));
    if (signal.aborted) return;
    if (next.isReady !== readiness.isReady) onChange(next.isReady);
    readiness = next;
    await sleep(clock, PERIOD_MS, signal);
  }
}

async function answersOk(url: URL, clock: Clock, ending: AbortSignal): Promise<boolean> {
  const timeout = new AbortController();
  const signal = AbortSignal.any([timeout.signal, ending]);
  const cancel = clock.setTimer(() => timeout.abort(), TIMEOUT_MS);
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const asked = get(url, { signal, agent: false }, ({ statusCode = 0 }) => {
        resolve(statusCode >= 200 && statusCode < 300);
        // Only the status matters. Do not read the body.
        asked.destroy();
      });
      asked.on('error', reject);
    });
  } catch {
    return false;
  } finally {
    cancel();
  }
}
