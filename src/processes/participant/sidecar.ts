import { get, type IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import { Participant } from '../../participant/participant.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import { isAllowedHost, type ListenAddress } from '../../support/address.ts';
import { type Clock, sleep } from '../../support/clock.ts';
import { withContext, writeWholeFile } from '../../support/files.ts';
import type { Host } from '../../support/host.ts';
import {
  type Answer,
  type HttpServer,
  isReading,
  pathOf,
  serveAnswers,
  startHttpServer,
} from '../http-server.ts';
import { Leadership, LeadershipStreams, leaseOf, type Participation } from './leadership.ts';

/**
 * Takes part on behalf of the program in the same pod and tells it which candidate leads, or only publishes the candidate.
 * Resolves to the exit code.
 *
 * @throws {Error} if an address or a file cannot be used, or the participant fails.
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
        // If the process stops meanwhile, the stop releases the Lease too.
        else participant.withdraw().catch(() => {});
      },
    });
  try {
    // Do not become a candidate before the program is ready.
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

interface LeaderEndpointsParts {
  readonly clock: Clock;
  readonly leadership: Leadership;
  /** Gives up leadership. Resolves when the Lease is released. */
  readonly resign: () => Promise<void>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

/** The paths and their methods. HEAD is handled like GET. */
const METHODS: Readonly<Record<string, 'GET' | 'POST'>> = {
  '/': 'GET',
  '/leader': 'GET',
  '/watch': 'GET',
  '/resign': 'POST',
  '/healthz': 'GET',
  '/metrics': 'GET',
};

/**
 * Serves the leader to programs of the same pod.
 *
 * @throws {Error} with the address and advice, if the server cannot listen on it.
 */
export function startLeaderEndpoints(
  listen: ListenAddress,
  parts: LeaderEndpointsParts,
): Promise<HttpServer> {
  const streams = new LeadershipStreams(parts);
  return serveAnswers(listen, {
    clock: parts.clock,
    takes(request, response) {
      if (pathOf(request) !== '/watch' || refusalOf(request) !== undefined || request.method !== 'GET')
        return false;
      streams.join(response);
      return true;
    },
    answer: (request) =>
      answerTo(request, parts).catch((error: unknown) => ({ status: 500, body: `${String(error)}\n` })),
    onClose: () => streams.close(),
  });
}

interface LeaderFileParts {
  readonly file: string;
  readonly leadership: Leadership;
  readonly clock: Clock;
  /** Called for a failed write after a successful one. */
  readonly onFailure: (error: unknown) => void;
}

/** Interval of writes while this candidate leads, in milliseconds: the content must not expire while it is still true. */
const WRITE_INTERVAL_MS = 1000;

/**
 * Keeps a file with the leader, and with the time until which the leader is valid. Writes are atomic.
 *
 * @returns a function that stops the updates. The file then says that this candidate does not lead.
 * @throws {Error} if the first write fails.
 */
export function keepLeaderFile({ file, leadership, clock, onFailure }: LeaderFileParts): () => void {
  let cancel = () => {};
  let hasFailed = false;

  const write = () => {
    cancel();
    const account = leadership.account();
    const text = `${JSON.stringify({ ...account, validUntil: wallTimeIn(account.validForMs, clock) })}\n`;
    // World-readable: the program beside this process often runs as another user.
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

/** The readiness of the program, by its answers to health checks. */
interface Readiness {
  readonly isReady: boolean;
  /** Consecutive failures. */
  readonly failures: number;
}

/** The state before the first answer. */
export const initialReadiness: Readiness = { isReady: false, failures: 0 };

/** Consecutive failures after which a program is not ready, as with kubelet probes. */
const FAILURES = 3;
const PERIOD_MS = 2000;

/** Timeout of a request, in milliseconds. */
const TIMEOUT_MS = 1500;

/** Returns the readiness after one more answer. */
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
 * Serves health checks. A participant is ready once its LeaseCandidate is published, whether it leads or not. A temporary
 * loss of the API server does not affect its health.
 *
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

async function answerTo(request: IncomingMessage, parts: LeaderEndpointsParts): Promise<Answer> {
  const refusal = refusalOf(request);
  if (refusal) return refusal;
  const { leadership, metrics } = parts;
  switch (pathOf(request)) {
    case '/':
      return json(200, { name: leadership.account().holder });
    case '/leader': {
      const account = leadership.account();
      return json(account.leading ? 200 : 503, account);
    }
    case '/resign': {
      const { leading } = leadership.account();
      leadership.acknowledge();
      if (leading) await parts.resign();
      return json(200, { resigned: leading, ...leadership.account() });
    }
    case '/metrics':
      return { status: 200, contentType: metrics.contentType, body: await metrics.metrics() };
    default:
      return { status: 200, body: 'ok\n' };
  }
}

/** Returns the refusal of a request; undefined if it is admitted. */
function refusalOf(request: IncomingMessage): Answer | undefined {
  const { headers, method = '' } = request;
  const path = pathOf(request);
  const allowed = METHODS[path];
  if (allowed === undefined) {
    return { status: 404, body: `not found; there are ${Object.keys(METHODS).join(', ')}\n` };
  }
  if (!isAllowedHost(headers.host)) {
    return { status: 403, body: 'the Host header names a website; ask by the address or by localhost\n' };
  }
  if (allowed === 'GET') {
    return isReading(request) ? undefined : { status: 405, body: 'only GET and HEAD\n' };
  }
  if (method !== allowed) return { status: 405, body: 'only POST\n' };
  // Every browser sends one of these headers. Other programs do not.
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) {
    return { status: 403, body: 'not for browsers\n' };
  }
  if (!/^(?:::ffff:)?127\.|^::1$/.test(request.socket.remoteAddress ?? '')) {
    return { status: 403, body: 'only for programs of the same pod: ask at 127.0.0.1\n' };
  }
  return undefined;
}

function json(status: number, body: object): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
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
        // Only the status matters: the body is not read.
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
