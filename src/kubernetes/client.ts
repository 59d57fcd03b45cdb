import { withoutCredentials } from '../support/address.ts';
import { type Clock, within } from '../support/clock.ts';
import type { JsonObject } from '../support/json.ts';
import { systemClock } from '../support/system-clock.ts';
import { messageOf } from '../support/text.ts';
import { Channel, type IncomingAnswer, isSuccess, readWhole } from './channel.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { CredentialSource } from './credentials.ts';
import { Deadline } from './deadline.ts';
import { ApiError, apiErrorFromResponse, ConnectionError, connectionError } from './errors.ts';
import { parseAnswer, readChunks, readList, type TakeItems } from './read-answer.ts';
import { Turns } from './turns.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the server's URL, without a query, such as `/apis/coordination.k8s.io/v1/leases`. */
  readonly path: string;
  readonly query?: Query;
  /** The client sends this value as JSON. */
  readonly body?: unknown;
  /** Default `application/json`. A PATCH must set it, because it names the kind of patch. */
  readonly contentType?:
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/json-patch+json'
    | 'application/apply-patch+yaml';
  /**
   * Time limit in ms, default 10,000: from the call until the client has read the whole answer. For a stream, until the
   * head of the answer has arrived. The time includes waiting in the queue.
   */
  readonly deadlineMs?: number;
  /** Aborts the call, or its stream. */
  readonly signal?: AbortSignal;
  /**
   * Takes the items of a list as they arrive, so that a long list is never completely in memory. The client reads no
   * more items while the returned promise is pending. The result of the call contains no items. The function must not
   * throw.
   */
  readonly takeItems?: TakeItems;
  /**
   * If true, this request gives way to other requests. If this request would have to wait in the queue, its call rejects
   * at once, without a call of `observe`. If another request has to wait, the client may abort this request. Both errors
   * have the code `ABORTED`. Has no effect on streams and on calls with `takeItems`.
   */
  readonly isBackground?: boolean;
}

/** One finished call, for metrics. A watch counts as finished when its answer begins. */
export interface ApiCallObservation {
  readonly method: string;
  /** Kubernetes' verb: get, list, watch, create, update, patch, delete or deletecollection. */
  readonly verb: string;
  /** The resource with its subresource, such as `leases` or `leases/status`; the path if the path names no resource. */
  readonly resource: string;
  /** The HTTP status; `error` if the client got no complete and valid answer. */
  readonly status: number | 'error';
  readonly durationMs: number;
}

/**
 * The Date header of an answer. `sentAt` and `answeredAt` are the times at which this client sent the request and
 * received the head of the answer, by its wall clock, in microseconds since 1970.
 */
export interface HeardDate {
  /** The value of the Date header. It has no fractions of a second. */
  readonly date: string;
  readonly sentAt: bigint;
  readonly answeredAt: bigint;
}

export interface KubernetesClient {
  readonly server: string;
  /** Resolves to the answer's JSON object. Rejects with {@link ApiError} or {@link ConnectionError}. Never retries. */
  request(request: ApiRequest): Promise<JsonObject>;
  /**
   * Resolves to the answer's body as a stream, as soon as the head of the answer has arrived. From then on, there is no
   * deadline. The caller must iterate over the body or abort the call, otherwise the connection stays open. Rejects
   * like {@link KubernetesClient.request}. After a failure or an abort, the iteration throws a {@link ConnectionError}.
   */
  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Ends streams at once. Waits at most `graceMs` (default one second) for requests in flight, then aborts them. Unsent
   * calls fail, usually with `CLIENT_CLOSED` or `ABORTED`. When the promise resolves, no call is in flight.
   */
  close(graceMs?: number): Promise<void>;
}

export interface ClientOptions {
  /** The server and the user, for example from `loadKubeConfig`. */
  readonly kubeConfig: ClusterConfig;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default `coordinated-leader-election`. */
  readonly userAgent?: string;
  /**
   * Maximum requests in flight, default 16. Further requests wait in a queue, but background requests reject instead.
   * Streams and calls with `takeItems` are exempt.
   */
  readonly connections?: number;
  /** Called after each call, for metrics. Not called if a background call rejects at once. Must not throw. */
  readonly observe?: (call: ApiCallObservation) => void;
  /** Called with the Date header of each answer that has this header. Must not throw. */
  readonly hear?: (heard: HeardDate) => void;
}

/** Creates a client. Throws a {@link ConnectionError} if the current context has no cluster. */
export function createClient(options: ClientOptions): KubernetesClient {
  return new HttpClient(options);
}

/** The steps of one call. `deadline` aborts the call if these steps take too long. */
type Run<T> = (deadline: Deadline) => Promise<{ status: number; result: T }>;

class HttpClient implements KubernetesClient {
  readonly server: string;
  readonly #options: ClientOptions & Required<Pick<ClientOptions, 'clock' | 'userAgent'>>;
  readonly #credentials: CredentialSource;
  readonly #channel: Channel;
  readonly #turns: Turns;
  readonly #calls = new Map<Deadline, Promise<unknown>>();
  readonly #streams = new Set<Deadline>();
  #closed: Promise<void> | undefined;

  constructor(given: ClientOptions) {
    const options = { clock: systemClock, userAgent: 'coordinated-leader-election', ...given };
    const { kubeConfig, clock } = options;
    const cluster = kubeConfig.getCurrentCluster();
    if (!cluster) throw new ConnectionError('the current context has no cluster', { code: 'CREDENTIALS' });
    // Remove credentials, because messages show the URL. The client authenticates as the kubeconfig's user.
    this.server = withoutCredentials(cluster.server).replace(/\/+$/, '');
    this.#options = options;
    this.#credentials = new CredentialSource({ kubeConfig, cluster, clock });
    this.#channel = new Channel({ server: this.server, proxyUrl: cluster.proxyUrl });
    this.#turns = new Turns(options.connections ?? 16);
  }

  async request(request: ApiRequest): Promise<JsonObject> {
    const { takeItems, isBackground = false } = request;
    if (takeItems) return this.#requestList(request, takeItems);
    if (isBackground && !this.#turns.isFree)
      throw connectionError(request, 'ABORTED', 'no connection is idle');
    return this.#call(request, async (deadline) => {
      const endTurn = await this.#turns.take(deadline.signal, isBackground ? deadline.abort : undefined);
      try {
        const answer = await this.#ask(request, deadline);
        const text = await deadline.race(readWhole(answer));
        deadline.dispose();
        return { status: answer.statusCode, result: parseAnswer(request, text) };
      } finally {
        endTurn();
      }
    });
  }

  /**
   * Requests a list outside the queue. A list may take a minute, and there may be several lists for each namespace, so
   * lists in the queue would keep other requests waiting.
   */
  #requestList(request: ApiRequest, takeItems: TakeItems): Promise<JsonObject> {
    return this.#call(request, async (deadline) => {
      const { body, statusCode: status } = await this.#ask(request, deadline);
      const result = await readList(request, body, takeItems);
      deadline.dispose();
      return { status, result };
    });
  }

  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#call(request, async (deadline) => {
      this.#streams.add(deadline);
      const { body, statusCode: status } = await this.#ask(request, deadline);
      deadline.stopTimer();
      // Node emits `close` after the end, an error or the destruction of the body.
      body.once('close', () => this.#end(deadline));
      // Without a listener, an error before the iteration would be uncaught. The iteration throws this error later.
      body.on('error', () => {});
      return { status, result: readChunks(body, (error) => deadline.explain(error, request)) };
    });
  }

  close(graceMs = 1000): Promise<void> {
    this.#closed ??= this.#close(graceMs);
    return this.#closed;
  }

  async #close(graceMs: number): Promise<void> {
    for (const stream of this.#streams) stream.abort();
    const ended = Promise.allSettled(this.#calls.values());
    await within(this.#options.clock, graceMs, ended);
    for (const call of this.#calls.keys()) call.abort();
    this.#channel.cut();
    await ended;
  }

  #end(deadline: Deadline): void {
    deadline.dispose();
    this.#streams.delete(deadline);
  }

  #call<T>(request: ApiRequest, run: Run<T>): Promise<T> {
    const { deadlineMs = 10_000, signal } = request;
    const deadline = new Deadline(this.#options.clock, deadlineMs, signal);
    const call = this.#carryOut(request, deadline, run).finally(() => this.#calls.delete(deadline));
    this.#calls.set(deadline, call);
    return call;
  }

  /** Runs one call within its deadline. Converts errors to ApiError or ConnectionError. Calls `observe`. */
  async #carryOut<T>(request: ApiRequest, deadline: Deadline, run: Run<T>): Promise<T> {
    const { clock, observe } = this.#options;
    const startedAt = clock.now();
    const report = (status: number | 'error') => {
      const durationMs = clock.now() - startedAt;
      const target = describeTarget(request.method, request.path, request.query);
      observe?.({ method: request.method, ...target, status, durationMs });
    };
    try {
      this.#assertOpen(request);
      const { status, result } = await run(deadline);
      report(status);
      return result;
    } catch (error) {
      this.#end(deadline);
      const explained = deadline.explain(error, request);
      report(explained instanceof ApiError ? explained.status : 'error');
      throw explained;
    }
  }

  /**
   * Sends the request. Resolves when the head of a successful answer has arrived. Rejects with an {@link ApiError} if
   * the server answers with an error.
   */
  async #ask(request: ApiRequest, deadline: Deadline): Promise<IncomingAnswer> {
    const { headers, tls } = await deadline.race(this.#authenticate(request));
    // Check again, because the client may have been closed while this call waited in the queue or for credentials. A
    // closed client sends no new requests, so that `close` waits only for requests in flight.
    this.#assertOpen(request);
    const { clock, hear, userAgent } = this.#options;
    const sentAt = clock.wallTime();
    const sent = this.#channel.send({
      method: request.method,
      path: pathWithQuery(request.path, request.query),
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': userAgent,
        // The API server compresses answers of 128 KiB and more. This shrinks lists of Leases and candidates to 8 % of
        // their size.
        ...(request.takeItems && { 'accept-encoding': 'gzip' }),
        ...(request.body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
      },
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      tls,
      signal: deadline.signal,
    });
    // The race is necessary: while a connection through a proxy is being opened, an abort does not reject `sent`.
    const answer = await deadline.race(sent);
    const { date, 'retry-after': retryAfter } = answer.headers;
    if (date !== undefined) hear?.({ date, sentAt, answeredAt: clock.wallTime() });
    if (answer.statusCode === 401) this.#credentials.invalidate();
    if (isSuccess(answer.statusCode)) return answer;
    const text = await deadline.race(readWhole(answer));
    throw apiErrorFromResponse(request, answer.statusCode, retryAfter, text);
  }

  #assertOpen(request: ApiRequest): void {
    if (this.#closed !== undefined) throw connectionError(request, 'CLIENT_CLOSED', 'the client is closed');
  }

  async #authenticate(request: ApiRequest): ReturnType<CredentialSource['get']> {
    try {
      return await this.#credentials.get();
    } catch (cause) {
      throw connectionError(request, 'CREDENTIALS', `no credentials: ${messageOf(cause)}`, { cause });
    }
  }
}

/** The query parameters of a URL. The client omits parameters that are undefined. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns the verb and the resource of a request, without names and namespaces. */
export function describeTarget(method: string, path: string, query: Query = {}) {
  // A resource is at /api/VERSION or /apis/GROUP/VERSION, then [/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]].
  const segments = path.split('/').filter((segment) => segment !== '');
  const rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  const isResource = (segments[0] === 'api' || segments[0] === 'apis') && rest.length > 0;
  if (!isResource) return { verb: verbOf(method, true, query), resource: path };
  const [resource = path, name, subresource] =
    rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return {
    verb: verbOf(method, name !== undefined, query),
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
  };
}

/** Returns the path with the encoded query, such as `/api/v1/pods?limit=1`. */
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
      return query['watch'] ? 'watch' : 'list';
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
