import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { pipeline } from 'node:stream';
import { constants, createGzip, type Gzip } from 'node:zlib';
import { type ControllerEvent, isApplied } from '../controller/controller-event.ts';
import type { ElectionController } from '../controller/election-controller.ts';
import type { LockState } from '../controller/lock/lock-settings.ts';
import { reasons } from '../election/decision.ts';
import { adviceOn, lossTexts, stateTexts } from '../inspection/wording.ts';
import { isAllowedHost } from '../support/address.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { LeaseSource } from './board.ts';
import { type Broadcast, createBroadcast, MAX_READERS } from './broadcast.ts';
import { createTimeline } from './timeline.ts';
import { type HelloMessage, type Messages, pageJson, type StateMessage, wallMs } from './wire.ts';

interface WatchedCoordinator {
  readonly controller: LeaseSource & Pick<ElectionController, 'hasSynced' | 'unwatchedSince'>;
  /** Undefined in a dry run, which has no lock. */
  readonly lock: { readonly state: Pick<LockState, 'kind' | 'holder'> } | undefined;
}

interface StatusPageParts extends Pick<HelloMessage, 'version' | 'namespaces' | 'notServedAdvice'> {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** The path prefix of all files of the page, except its HTML file. */
const ASSETS_PATH = '/status/';
const EVENTS_PATH = `${ASSETS_PATH}events`;

/** A watch usually restarts within this time, in ms. If an interruption lasts longer, the page shows a warning. */
const WATCH_RESTART_MS = 3000;

/**
 * The answer to a Host header that {@link isAllowedHost} refuses, such as a public name. A request through kubectl
 * proxy has the name of the API server in this header, so the page refuses the request if that name is public.
 */
const NOT_ALLOWED_HOST =
  'ask for this page by an address, or by a name that is not public, as through kubectl port-forward\n';

/** Security headers. For example, the page may load only its own files, and may not insert text as markup. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** Delay before a refused page reconnects, in milliseconds. */
const REFUSED_RETRY_MS = 10_000;

/** The gzip level. It is low for speed: the content is so repetitive that a higher level would save little. */
const LEVEL = 3;

export type StatusPage = ReturnType<typeof createStatusPage>;

export function createStatusPage({ clock, onError, ...about }: StatusPageParts) {
  const timeline = createTimeline(clock);
  const assets = loadAssets();
  let broadcast: Broadcast | undefined;
  let api: StateMessage['api'] = 'unknown';
  /** The start of the last reported interruption of a watch: `since` is an instant, `at` is Unix time in ms. */
  let blind: { readonly since: Instant; readonly at: number } | undefined;

  function sight(controller: WatchedCoordinator['controller']) {
    const hasSynced = controller.hasSynced('leases') && controller.hasSynced('leasecandidates');
    const since = controller.unwatchedSince();
    const blindMs = since === undefined ? 0 : clock.now() - since;
    if (!hasSynced || since === undefined || blindMs < WATCH_RESTART_MS) return { hasSynced };
    // Compute `at` once per interruption: later results could differ a little, and each would be sent to all pages.
    if (blind?.since !== since) blind = { since, at: Math.round(wallMs(clock) - blindMs) };
    return { hasSynced, blindSince: blind.at };
  }

  function stream(request: IncomingMessage, response: ServerResponse): void {
    const isCompressed = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // Tell proxies not to buffer the stream.
      'X-Accel-Buffering': 'no',
      // Without this header, the connection would stay open after the stream, and delay the closing of the server.
      Connection: 'close',
      Vary: 'Accept-Encoding',
      ...(isCompressed && { 'Content-Encoding': 'gzip' }),
    });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    response.flushHeaders();
    const sink = isCompressed ? compressedTo(response) : response;
    const leave = broadcast?.join(sink);
    // Refuse with a short stream, not with an error status: after an error status, an EventSource does not reconnect.
    const refusal: Messages['refused'] = { why: `${MAX_READERS} pages are open already` };
    if (!leave) sink.end(`retry: ${REFUSED_RETRY_MS}\nevent: refused\ndata: ${pageJson(refusal)}\n\n`);
    response.once('close', () => leave?.());
  }

  return {
    observe(event: ControllerEvent): void {
      switch (event.type) {
        case 'seen':
          broadcast?.touch(event.key, event.isRenewalOnly);
          break;
        case 'decided':
          timeline.decided(event.key, event.decision, event.input);
          broadcast?.touch(event.key);
          break;
        case 'written':
          if (isApplied(event)) timeline.applied(event);
          broadcast?.touch(event.key);
          break;
        case 'forgotten':
          timeline.forgotten(event.key);
          broadcast?.touch(event.key);
          break;
        case 'synced':
          api = 'served';
          break;
        case 'notServed':
          api = 'notServed';
          break;
        default:
      }
    },
    /** Sets the coordinator whose Leases the page shows. Before this call, every stream is refused. */
    watch({ controller, lock }: WatchedCoordinator): void {
      broadcast = createBroadcast({
        clock,
        source: controller,
        onError,
        electionsAfter: timeline.after,
        hello: { ...about, startedAt: wallMs(clock), ...catalogue },
        state: () => ({
          replica: lock?.state.kind ?? 'dryRun',
          lockHolder: lock?.state.holder,
          api,
          ...sight(controller),
        }),
      });
    },
    /** Whether the page handles a path (without its query). */
    has: (path: string) => path === EVENTS_PATH || assets.has(path),
    answer(request: IncomingMessage, response: ServerResponse): void {
      response.setHeaders(new Map(Object.entries(HEADERS)));
      const [path = ''] = (request.url ?? '').split('?', 1);
      const asset = assets.get(path);
      if (!isAllowedHost(request.headers.host))
        response.writeHead(421, { 'Content-Type': 'text/plain; charset=utf-8' }).end(NOT_ALLOWED_HOST);
      else if (asset) response.writeHead(200, asset.headers).end(asset.body);
      else stream(request, response);
    },
    close: () => broadcast?.close(),
  };
}

/** Advice on reasons, the meaning of each candidate state, and an explanation of each value of `lostBy`. */
export const catalogue: Pick<HelloMessage, 'advice' | 'states' | 'losses'> = {
  advice: Object.fromEntries(reasons.map((reason) => [reason, adviceOn(reason)])),
  states: stateTexts,
  losses: lossTexts,
};

/** Returns a stream that compresses messages, and flushes each message, so that the page gets the message at once. */
function compressedTo(response: ServerResponse): Gzip {
  const gzip = createGzip({ level: LEVEL, flush: constants.Z_SYNC_FLUSH });
  pipeline(gzip, response, () => {});
  return gzip;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the files of the page. Returns a map from the path in the URL to the file. */
function loadAssets() {
  const folder = new URL('./page/', import.meta.url);
  return new Map(
    readdirSync(folder).flatMap((file) => {
      const contentType = CONTENT_TYPES[extname(file)];
      if (contentType === undefined) return [];
      const path = file === 'index.html' ? '/' : `${ASSETS_PATH}${file}`;
      const body = readFileSync(new URL(file, folder));
      const headers = { 'Content-Type': contentType, 'Content-Length': body.length };
      return [[path, { headers, body }] as const];
    }),
  );
}
