import { withoutCredentials } from '../support/address.ts';
import { type Clock, within } from '../support/clock.ts';
import type { JsonObject } from '../support/json.ts';
import {
  type Channel,
  type IncomingAnswer,
  isSuccess,
  type OutgoingRequest,
  readWhole,
  uncompressed,
} from './channel.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { ConnectionPools, type Connections, Turns } from './connections.ts';
import { CredentialSource } from './credentials.ts';
import { Deadline, describeCall, explainFailure, messageOf } from './deadline.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { BodyChunks, parseAnswer, readList, refusal, type TakeItems } from './read-answer.ts';

/** One call to the API server. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the server's root on, without a query: `/apis/coordination.k8s.io/v1/leases`. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`; a PATCH has to say which kind of patch it is. */
  readonly contentType?:
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/json-patch+json'
    | 'application/apply-patch+yaml';
  /** For the whole call in milliseconds, credentials and body included; default 10,000. */
  readonly deadlineMs?: number;
  /** Aborts the call, or the stream that came of it. */
  readonly signal?: AbortSignal;
  /**
   * Takes the items of a list as they arrive, so that a long one is never in memory as a whole, and nothing is read while the
   * promise that it returns is pending. What it has taken is not in the answer. Must not throw.
   */
  readonly takeItems?: TakeItems;
  /**
   * Sends the request only over a connection that is idle, and gives it up as soon as another request needs a connection. Both
   * reject with `ABORTED`. What is not sent is not observed. Not for lists and streams.
   */
  readonly isBackground?: boolean;
}

/** One finished call, for metrics. A watch is finished, in this sense, when its response has begun. */
export interface ApiCallObservation {
  readonly method: string;
  readonly verb: string;
  readonly resource: string;
  /** The HTTP status, or `error` where there was no complete answer. */
  readonly status: number | 'error';
  readonly durationMs: number;
}

/** What the server's clock said in an answer, and when the call was sent and answered by ours, in microseconds. */
export interface HeardDate {
  /** As HTTP has it: cut to the second. */
  readonly date: string;
  readonly sentAt: bigint;
  readonly answeredAt: bigint;
}

/** Talks to one API server. */
export interface KubernetesClient {
  /** The server's URL. */
  readonly server: string;
  /** The answer's JSON object. Rejects with {@link ApiError} or {@link ConnectionError}; nothing is ever retried. */
  request(request: ApiRequest): Promise<JsonObject>;
  /**
   * The answer's body as it arrives; the deadline covers its beginning only. It has to be iterated or aborted, else its
   * connection stays open. Rejects, and the iteration throws, as {@link KubernetesClient.request} does.
   */
  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Ends streams at once, gives requests under way `graceMs` (default a second), and aborts those that have not ended then.
   * Calls that have not been sent fail with `CLIENT_CLOSED`. Once this resolves no call is under way, whatever the server
   * does.
   */
  close(graceMs?: number): Promise<void>;
}

/** What {@link createClient} needs. */
export interface ClientOptions {
  /** Configuration and authentication; see `loadKubeConfig`. */
  readonly kubeConfig: ClusterConfig;
  readonly clock: Clock;
  readonly userAgent: string;
  /** How many requests run at once, default 16; more wait their turn. Lists and watches have connections of their own. */
  readonly connections?: number;
  /** Whether memory counts for more than time, as for a program of few requests; default false. */
  readonly isLean?: boolean;
  /** Must not throw. */
  readonly observe?: (call: ApiCallObservation) => void;
  /** Told the time of each answer that has one. Must not throw. */
  readonly hear?: (heard: HeardDate) => void;
}

const DEFAULT_DEADLINE_MS = 10_000;
const DEFAULT_CONNECTIONS = 16;
const DEFAULT_GRACE_MS = 1000;

/** A client for the current context's cluster. Throws a {@link ConnectionError} when the context has no cluster. */
export function createClient(options: ClientOptions): KubernetesClient {
  return new HttpClient(options);
}

/** What a call does within its deadline. */
type Run<T> = (deadline: Deadline) => Promise<{ status: number; result: T }>;

class HttpClient implements KubernetesClient {
  readonly server: string;
  readonly #options: ClientOptions;
  readonly #credentials: CredentialSource;
  readonly #pools: ConnectionPools;
  readonly #turns: Turns;
  readonly #calls = new Map<Deadline, Promise<unknown>>();
  readonly #streams = new Set<Deadline>();
  #closed: Promise<void> | undefined;

  constructor(options: ClientOptions) {
    const cluster = options.kubeConfig.getCurrentCluster();
    if (!cluster) throw new ConnectionError('the current context has no cluster', { code: 'CREDENTIALS' });
    // Not told, and not sent either: it is the user of the kubeconfig who asks.
    this.server = withoutCredentials(cluster.server).replace(/\/+$/, '');
    this.#options = options;
    this.#credentials = new CredentialSource(options.kubeConfig, cluster, options.clock);
    const connections = options.connections ?? DEFAULT_CONNECTIONS;
    this.#pools = new ConnectionPools({
      maxConnections: connections,
      isLean: options.isLean ?? false,
    });
    this.#turns = new Turns(connections);
  }

  async request(request: ApiRequest): Promise<JsonObject> {
    const { takeItems, isBackground = false } = request;
    if (takeItems) return this.#call(request, (deadline) => this.#requestList(request, takeItems, deadline));
    if (isBackground && !this.#turns.isFree) {
      throw new ConnectionError(`${describeCall(request)}: no connection is idle`, { code: 'ABORTED' });
    }
    return this.#call(request, async (deadline) => {
      const endTurn = await this.#turns.take(deadline.signal, isBackground ? deadline.abort : undefined);
      try {
        const answer = await this.#ask(request, deadline, ({ requests }, ...sent) =>
          requests.exchange(...sent),
        );
        deadline.dispose();
        if (!isSuccess(answer.statusCode)) throw refusal(request, answer);
        return { status: answer.statusCode, result: parseAnswer(request, answer.text) };
      } finally {
        endTurn();
      }
    });
  }

  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#call(request, async (deadline) => {
      this.#streams.add(deadline);
      try {
        const answer = await this.#ask(request, deadline, ({ streams }, ...sent) => streams.send(...sent));
        const { body, statusCode: status } = answer;
        if (!isSuccess(status)) throw refusal(request, await deadline.race(readWhole(answer)));
        deadline.stopTimer();
        // Always emitted, whether the body ends, fails or is given up.
        body.once('close', () => this.#endStream(deadline));
        // An error before the iteration begins must not be an uncaught one; the iteration throws it later.
        body.on('error', () => {});
        return { status, result: new BodyChunks(body, (error) => explainFailure(error, request, deadline)) };
      } catch (error) {
        this.#endStream(deadline);
        throw error;
      }
    });
  }

  /** Over the connections for watches: a list may take a minute, and of each namespace there may be several. */
  async #requestList(request: ApiRequest, take: TakeItems, deadline: Deadline) {
    const answer = uncompressed(
      await this.#ask(request, deadline, ({ streams }, ...sent) => streams.send(...sent)),
    );
    const { body, statusCode: status } = answer;
    if (!isSuccess(status)) throw refusal(request, await deadline.race(readWhole(answer)));
    const chunks = new BodyChunks(body, (error) => explainFailure(error, request, deadline));
    const result = await readList(request, chunks, take);
    deadline.dispose();
    return { status, result };
  }

  close(graceMs = DEFAULT_GRACE_MS): Promise<void> {
    this.#closed ??= this.#close(graceMs);
    return this.#closed;
  }

  async #close(graceMs: number): Promise<void> {
    for (const stream of this.#streams) stream.abort();
    const ended = Promise.allSettled(this.#calls.values());
    await within(this.#options.clock, graceMs, ended);
    for (const call of this.#calls.keys()) call.abort();
    this.#pools.cut();
    await ended;
  }

  #endStream(deadline: Deadline): void {
    deadline.dispose();
    this.#streams.delete(deadline);
  }

  async #call<T>(request: ApiRequest, run: Run<T>): Promise<T> {
    const { deadlineMs = DEFAULT_DEADLINE_MS, signal } = request;
    const deadline = new Deadline(this.#options.clock, deadlineMs, signal);
    const call = this.#carryOut(request, deadline, run);
    this.#calls.set(deadline, call);
    try {
      return await call;
    } finally {
      this.#calls.delete(deadline);
    }
  }

  /** Runs one call within its deadline, turns whatever goes wrong into an error of ours, and observes how it went. */
  async #carryOut<T>(request: ApiRequest, deadline: Deadline, run: Run<T>): Promise<T> {
    const startedAt = this.#options.clock.now();
    try {
      this.#assertOpen(request);
      const { status, result } = await run(deadline);
      this.#observe(request, status, startedAt);
      return result;
    } catch (error) {
      deadline.dispose();
      const explained = explainFailure(error, request, deadline);
      this.#observe(request, explained instanceof ApiError ? explained.status : 'error', startedAt);
      throw explained;
    }
  }

  /** Resolves with whatever the server says. */
  async #ask<T extends Pick<IncomingAnswer, 'statusCode' | 'headers'>>(
    request: ApiRequest,
    deadline: Deadline,
    send: (connections: Connections, ...sent: Parameters<Channel['send']>) => Promise<T>,
  ): Promise<T> {
    const { headers, connection } = await deadline.race(this.#authenticate(request));
    // A client closed meanwhile must not open new connections: nothing would close them.
    this.#assertOpen(request);
    const { clock, hear } = this.#options;
    const sentAt = clock.wallTime();
    const outgoing: OutgoingRequest = {
      method: request.method,
      headers: { ...headers, ...this.#ownHeaders(request) },
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      signal: deadline.signal,
    };
    const url = `${this.server}${pathWithQuery(request.path, request.query)}`;
    // Raced as well: an abort does not reach a request that still waits for a connection.
    const answer = await deadline.race(send(this.#pools.use(connection), url, outgoing));
    const { date } = answer.headers;
    if (date !== undefined) hear?.({ date, sentAt, answeredAt: clock.wallTime() });
    if (answer.statusCode === 401) this.#credentials.invalidate();
    return answer;
  }

  #assertOpen(request: ApiRequest): void {
    if (!this.#closed) return;
    throw new ConnectionError(`${describeCall(request)}: the client is closed`, { code: 'CLIENT_CLOSED' });
  }

  async #authenticate(request: ApiRequest): ReturnType<CredentialSource['get']> {
    try {
      return await this.#credentials.get();
    } catch (error) {
      const message = `${describeCall(request)}: no credentials: ${messageOf(error)}`;
      throw new ConnectionError(message, { code: 'CREDENTIALS', cause: error });
    }
  }

  #ownHeaders(request: ApiRequest): Record<string, string> {
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': this.#options.userAgent,
    };
    // The API server does so from 128 KiB on: Leases and candidates come down to a thirteenth.
    if (request.takeItems) headers['accept-encoding'] = 'gzip';
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
    return headers;
  }

  #observe(request: ApiRequest, status: number | 'error', startedAt: number): void {
    const { clock, observe } = this.#options;
    const durationMs = clock.now() - startedAt;
    const target = describeTarget(request.method, request.path, request.query);
    observe?.({ method: request.method, ...target, status, durationMs });
  }
}

/** What a request is about, in the few words that metrics may be labelled with. */
export interface RequestTarget {
  /** Kubernetes' verb: get, list, watch, create, update, patch, delete or deletecollection. */
  readonly verb: string;
  /** The resource with its subresource, like `leases` or `leases/status`; the path itself for what is no resource. */
  readonly resource: string;
}

/** Query parameters; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Tells verb and resource from method, path and query. Names and namespaces are not part of it. */
export function describeTarget(method: string, path: string, query: Query = {}): RequestTarget {
  const { resource, named } = parsePath(path);
  return { verb: verbOf(method, named, query), resource };
}

/** The path with its query, as it goes on the request line. */
export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

function verbOf(method: string, named: boolean, query: Query): string {
  switch (method) {
    case 'GET':
      if (named) return 'get';
      return query['watch'] === undefined || query['watch'] === false ? 'list' : 'watch';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'DELETE':
      return named ? 'delete' : 'deletecollection';
    default:
      return method.toLowerCase();
  }
}

/** /api/v1/... or /apis/group/version/..., then namespaces/NAMESPACE/, resource, name, subresource. */
function parsePath(path: string): { resource: string; named: boolean } {
  const segments = path.split('/').filter((segment) => segment !== '');
  const rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  const isResource = (segments[0] === 'api' || segments[0] === 'apis') && rest.length > 0;
  if (!isResource) return { resource: path, named: true };
  const [resource = path, name, subresource] =
    rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return {
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    named: name !== undefined,
  };
}
