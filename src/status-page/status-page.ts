import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type ControllerEvent, isApplied, type WatchedResource } from '../controller/controller-event.ts';
import type { LockState } from '../controller/lock/lock-settings.ts';
import { REASONS, type Reason, reasons } from '../election/decision.ts';
import { lossTexts, reasonTexts, stateTexts } from '../inspection/wording.ts';
import { isAllowedHost } from '../support/address.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { isStep, troubleLevel } from '../telemetry/election-result.ts';
import { Board, type LeaseSource } from './board.ts';
import { Broadcast, MAX_VIEWERS } from './broadcast.ts';
import { Timeline } from './timeline.ts';
import { acceptsGzip, streamEncodingFor } from './viewer.ts';
import type { HelloMessage, ReasonEntry, StateMessage } from './wire.ts';

/** The parts of a coordinator that the page shows. */
interface WatchedCoordinator {
  readonly controller: LeaseSource & {
    hasSynced(resource: WatchedResource): boolean;
    unwatchedSince(): Instant | undefined;
  };
  /** Undefined in a dry run. */
  readonly lock: { readonly state: Pick<LockState, 'kind' | 'holder'> } | undefined;
}

interface StatusPageParts {
  readonly clock: Clock;
  readonly version: string;
  readonly namespaces: readonly string[];
  /** Advice if the API server does not serve LeaseCandidates. */
  readonly notServedAdvice: string;
  /** Called for internal errors. */
  readonly onError: (error: unknown) => void;
}

/** The path of the page. All its other files are below `/status/`. */
const PAGE_PATH = '/';
const ASSETS_PATH = '/status/';
const EVENTS_PATH = `${ASSETS_PATH}events`;

/** A watch restarts within this time, in milliseconds. After a longer gap its data may be outdated. */
const WATCH_RESTART_MS = 3000;

/** kubectl proxy forwards the Host header of the API server, which may be a public name. */
const NOT_ALLOWED_HOST =
  'ask for this page by an address, or by a name that is not public, as through kubectl port-forward';

/** The page may load only its own files and stream, and cannot insert text as markup. */
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

/** A read-only page about a coordinator. */
export class StatusPage {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #timeline: Timeline;
  readonly #assets: ReadonlyMap<string, Asset> = loadAssets();
  readonly #hello: Omit<HelloMessage, 'dryRun'>;
  #board: Board | undefined;
  #broadcast: Broadcast | undefined;
  #api: StateMessage['api'] = 'unknown';
  /** Since when the caches get no changes, on the monotonic clock and in milliseconds since the Unix epoch. */
  #blind: { readonly since: Instant; readonly at: number } | undefined;

  constructor({ clock, version, namespaces, notServedAdvice, onError }: StatusPageParts) {
    this.#clock = clock;
    this.#onError = onError;
    this.#timeline = new Timeline(clock);
    const startedAt = Number(clock.wallTime() / 1000n);
    this.#hello = { version, startedAt, namespaces, notServedAdvice, ...catalogue };
  }

  observe(event: ControllerEvent): void {
    switch (event.type) {
      case 'seen':
        this.#board?.seen(event.key, event.isRenewalOnly);
        break;
      case 'decided':
        this.#timeline.decided(event.key, event.decision, event.input);
        this.#board?.touch(event.key);
        break;
      case 'written':
        this.#board?.touch(event.key);
        if (isApplied(event)) this.#timeline.applied(event);
        break;
      case 'forgotten':
        this.#timeline.forgotten(event.key);
        this.#board?.touch(event.key);
        break;
      case 'synced':
        this.#api = 'served';
        break;
      case 'notServed':
        this.#api = 'notServed';
        break;
      default:
    }
  }

  /** Sets the coordinator. Until then the page is empty. */
  watch({ controller, lock }: WatchedCoordinator): void {
    const board = new Board(this.#clock, controller);
    this.#board = board;
    this.#broadcast = new Broadcast({
      clock: this.#clock,
      board,
      onError: this.#onError,
      timeline: this.#timeline,
      hello: { ...this.#hello, dryRun: lock === undefined },
      state: () => ({
        replica: lock?.state.kind ?? 'dryRun',
        ...(lock?.state.holder !== undefined && { lockHolder: lock.state.holder }),
        api: this.#api,
        ...this.#sight(controller),
      }),
    });
  }

  /** Whether the page handles a path (without its query). */
  has(path: string): boolean {
    return path === EVENTS_PATH || this.#assets.has(path);
  }

  /** Answers a GET or HEAD request for one of the page's paths. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const [path = ''] = (request.url ?? '').split('?', 1);
    const asset = this.#assets.get(path);
    if (!isAllowedHost(request.headers.host)) {
      refuse(response, 421, NOT_ALLOWED_HOST);
    } else if (asset) {
      sendAsset(request, response, asset);
    } else {
      this.#stream(request, response);
    }
  }

  close(): void {
    this.#broadcast?.close();
  }

  #sight(controller: WatchedCoordinator['controller']): Pick<StateMessage, 'hasSynced' | 'blindSince'> {
    const hasSynced = controller.hasSynced('leases') && controller.hasSynced('leasecandidates');
    const since = controller.unwatchedSince();
    const blindMs = since === undefined ? 0 : this.#clock.now() - since;
    if (!hasSynced || since === undefined || blindMs < WATCH_RESTART_MS) return { hasSynced };
    // Computed once: the two clocks drift, so that another value would count as a change and be sent again.
    if (this.#blind?.since !== since) {
      this.#blind = { since, at: Math.round(Number(this.#clock.wallTime() / 1000n) - blindMs) };
    }
    return { hasSynced, blindSince: this.#blind.at };
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    const encoding = streamEncodingFor(request.headers['accept-encoding']);
    const begin = () => {
      response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
      // Disables the buffering of proxies.
      response.setHeader('X-Accel-Buffering', 'no');
      // A closing server must not wait for the next request of this connection.
      response.setHeader('Connection', 'close');
      response.setHeader('Vary', 'Accept-Encoding');
      if (encoding.name) response.setHeader('Content-Encoding', encoding.name);
    };
    if (request.method === 'HEAD') {
      begin();
      response.end();
      return;
    }
    if (!this.#broadcast || this.#broadcast.viewers >= MAX_VIEWERS) {
      response.setHeader('Retry-After', '10');
      refuse(response, 503, `${MAX_VIEWERS} pages are open already`);
      return;
    }
    begin();
    response.flushHeaders();
    const leave = this.#broadcast.join(response, encoding);
    response.once('close', () => leave?.());
  }
}

/** The explanations of all words that the page shows. */
export const catalogue: Pick<HelloMessage, 'reasons' | 'states' | 'losses'> = {
  reasons: Object.fromEntries(reasons.map((reason) => [reason, reasonEntry(reason)])) as Record<
    Reason,
    ReasonEntry
  >,
  states: stateTexts,
  losses: lossTexts,
};

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset): void {
  const isGzipped = acceptsGzip(request.headers['accept-encoding']);
  const body = isGzipped ? asset.gzipped : asset.body;
  response.setHeader('Content-Type', asset.contentType);
  response.setHeader('Content-Length', body.length);
  response.setHeader('Vary', 'Accept-Encoding');
  if (isGzipped) response.setHeader('Content-Encoding', 'gzip');
  response.end(body);
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.end(`${why}\n`);
}

/** A file of the page. */
interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the files of the page, by their paths. */
function loadAssets(): ReadonlyMap<string, Asset> {
  const folder = new URL('./page/', import.meta.url);
  return new Map(
    readdirSync(folder).flatMap((file): [string, Asset][] => {
      const contentType = CONTENT_TYPES[extname(file)];
      if (contentType === undefined) return [];
      const body = readFileSync(new URL(file, folder));
      const path = file === 'index.html' ? PAGE_PATH : `${ASSETS_PATH}${file}`;
      return [[path, { contentType, body, gzipped: gzipSync(body) }]];
    }),
  );
}

function reasonEntry(reason: Reason): ReasonEntry {
  const { advice } = reasonTexts[reason];
  const trouble = troubleLevel(reason);
  return {
    meaning: REASONS[reason],
    ...(advice !== undefined && { advice }),
    ...(trouble !== undefined && { trouble }),
    ...(isStep(reason) && { isStep: true }),
  };
}
