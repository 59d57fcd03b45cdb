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

/** What the endpoints tell of, and what they can do. */
interface LeaderEndpointsParts {
  readonly clock: Clock;
  readonly leadership: Leadership;
  /** Gives up the lead; resolves once the Lease is released. */
  readonly resign: () => Promise<void>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

/** What there is, with the only methods that it knows; the same for HEAD as for GET. */
const METHODS: Readonly<Record<string, 'GET' | 'POST'>> = {
  '/': 'GET',
  '/leader': 'GET',
  '/watch': 'GET',
  '/resign': 'POST',
  '/healthz': 'GET',
  '/metrics': 'GET',
};

/**
 * Tells programs of the same pod who leads.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
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

/** What a {@link keepLeaderFile} needs. */
interface LeaderFileParts {
  readonly file: string;
  readonly leadership: Leadership;
  readonly clock: Clock;
  /** Told of a write that failed after one that did not. */
  readonly onFailure: (error: unknown) => void;
}

/** While it leads, in milliseconds: what the file says must not run out as long as it is so. */
const EVERY_MS = 1000;

/**
 * Keeps a file that tells who leads: who reads it finds all of it, as it was at one moment, and until when that holds.
 *
 * @returns what ends it; the file then says that this candidate does not lead.
 * @throws {Error} when it cannot be written the first time.
 */
export function keepLeaderFile({ file, leadership, clock, onFailure }: LeaderFileParts): () => void {
  let cancel = () => {};
  let hasFailed = false;

  const write = () => {
    cancel();
    const account = leadership.account();
    const text = `${JSON.stringify({ ...account, validUntil: wallTimeIn(account.validForMs, clock) })}\n`;
    // Everybody may read it: the program beside this one is often another user.
    writeWholeFile(file, `${file}.new`, text, { mode: 0o644 });
    if (account.leading) cancel = clock.setTimer(writeOrTell, EVERY_MS);
  };
  const writeOrTell = () => {
    try {
      write();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFailure(error);
      hasFailed = true;
      cancel = clock.setTimer(writeOrTell, EVERY_MS);
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

/** Whether a program is well, by what it has answered so far. */
interface Readiness {
  readonly isReady: boolean;
  /** In a row. */
  readonly failures: number;
}

/** Before the first answer. */
export const notReadyYet: Readiness = { isReady: false, failures: 0 };

/** So many in a row, as with the probes of a kubelet, and a program that was well is not. */
const FAILURES = 3;
const PERIOD_MS = 2000;

/** For one answer, in milliseconds. */
const TIMEOUT_MS = 1500;

/** What one more answer makes of it. */
export function judge({ isReady, failures }: Readiness, isOk: boolean): Readiness {
  if (isOk) return { isReady: true, failures: 0 };
  return { isReady: isReady && failures + 1 < FAILURES, failures: failures + 1 };
}

/** What a {@link serveHealth} tells of. */
export interface ParticipantHealthParts {
  readonly clock: Clock;
  readonly participant: Pick<Participant, 'published' | 'state'>;
  readonly metrics: { readonly contentType: string; metrics(): Promise<string> };
}

/**
 * Tells probes whether a participant could be elected: it is ready once its LeaseCandidate is published, whoever leads. Whether
 * the API server can be reached at present does not matter.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
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

/** Why a request is not answered; undefined where it is. */
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
  // Every browser sends one of these; programs do not.
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

/** Asks `url` again and again until `signal` aborts, and tells of each change. */
async function watchReadiness(
  url: URL,
  { clock, signal, onChange }: { clock: Clock; signal: AbortSignal; onChange: (isReady: boolean) => void },
): Promise<void> {
  let readiness = notReadyYet;
  while (!signal.aborted) {
    const next = judge(readiness, await answersOk(url, clock, signal));
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
        // What else it says does not matter.
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
