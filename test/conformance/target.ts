import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type WatchedStream, watchedStream } from './watched-stream.ts';

/** The API that a server serves. */
export interface ServedApi {
  readonly name: string;
  /** The minor version of Kubernetes that the server is, or imitates: 31, 32, 33, 36. */
  readonly minor: number;
  /** The served versions of LeaseCandidate, the preferred one first. */
  readonly candidateVersions: readonly [string, ...string[]];
  /** Whether it serves LeaseCandidates of this project's own group. */
  readonly hasCustomCandidates: boolean;
}

/** An API server under test. */
export interface ConformanceTarget extends ServedApi {
  /** A user who may only get, list and watch Leases, LeaseCandidates and namespaces. */
  readonly reader: { readonly token: string; readonly user: string };
  /** A user who may only update and patch Leases. */
  readonly changer: { readonly token: string; readonly user: string };
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** @throws Error if the status is not 200; test refused watches with `request` */
  watch(path: string, options?: RequestOptions): Promise<WatchedStream>;
  /** Makes the server forget all revisions except the latest, as happens over time. */
  compact(): Promise<void>;
}

/** A target that the caller must stop. */
export interface RunningTarget {
  readonly target: ConformanceTarget;
  stop(): Promise<void>;
}

/** The content of a request. */
export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly rawBody?: string | Buffer;
  /** Default `application/json` if there is a body; '' for none. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  /** Default `conformance/1.0`, so that the field manager is `conformance`. */
  readonly userAgent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the administrator's; '' for none. */
  readonly token?: string;
}

/** The answer of a server. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  /** The texts of its Warning headers. */
  readonly warnings: readonly string[];
  readonly text: string;
  /** The body, loosely typed for the expectations of tests. */
  readonly json: Body;
}

/** A body of the API: an object, a list, a Table or a Status. */
export interface Body {
  readonly metadata: BodyMetadata;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Of a list. */
  readonly items: readonly Body[];
  readonly [field: string]: unknown;
}

/** Metadata of an object or a list; most fields are only on one of them. */
export interface BodyMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly Readonly<Record<string, unknown>>[];
  readonly continue?: string;
  readonly [field: string]: unknown;
}

/** A server's address, with administrator access. */
export interface TargetAccess {
  readonly url: string;
  /** PEM of the certificate to trust; absent for plain HTTP. */
  readonly ca?: string;
  readonly token: string;
}

/** The part of a {@link ConformanceTarget} that is the same for every server. It keeps connections. */
export interface Requester extends Pick<ConformanceTarget, 'request' | 'watch'> {
  close(): void;
}

/** Timeout of a request to any server. */
const timeout = 30_000;

/** Sends requests to one server. */
export function makeRequester({ url, ca, token }: TargetAccess): Requester {
  const base = new URL(url);
  const isSecure = base.protocol === 'https:';
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...(ca !== undefined && { ca }) })
    : new HttpAgent({ keepAlive: true });
  const send = isSecure ? httpsRequest : httpRequest;

  function open(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    return new Promise((resolve, reject) => {
      // Not `new URL`: it would normalize paths that the server must judge.
      const outgoing = send({
        host: base.hostname,
        port: base.port,
        path,
        method,
        agent,
        headers: requestHeaders(options, body, token),
      });
      outgoing.setTimeout(timeout, () => outgoing.destroy(new Error(`${method} ${path}: no answer`)));
      outgoing.once('error', reject);
      outgoing.once('response', resolve);
      outgoing.end(body);
    });
  }

  return {
    async request(method, path, options = {}) {
      const incoming = await open(method, path, options);
      return toAnswer(incoming, await textOf(incoming));
    },
    async watch(path, options = {}) {
      const watching = `${path}${path.includes('?') ? '&' : '?'}watch=true`;
      const incoming = await open('GET', watching, options);
      if (incoming.statusCode !== 200) {
        throw new Error(`GET ${watching}: ${incoming.statusCode} ${await textOf(incoming)}`);
      }
      return watchedStream(incoming);
    },
    close: () => agent.destroy(),
  };
}

function requestHeaders(
  options: RequestOptions,
  body: string | Buffer | undefined,
  adminToken: string,
): Record<string, string> {
  const { token = adminToken, userAgent = 'conformance/1.0', accept = 'application/json' } = options;
  const contentType = options.contentType ?? (body === undefined ? '' : 'application/json');
  return {
    ...(accept !== '' && { accept }),
    ...(userAgent !== '' && { 'user-agent': userAgent }),
    ...(token !== '' && { authorization: `Bearer ${token}` }),
    ...(contentType !== '' && { 'content-type': contentType }),
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    ...options.headers,
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function toAnswer(incoming: IncomingMessage, text: string): Answer {
  return {
    code: incoming.statusCode ?? 0,
    headers: incoming.headers,
    warnings: (incoming.headersDistinct['warning'] ?? []).map(warningText),
    text,
    get json() {
      return JSON.parse(text) as Body;
    },
  };
}

/** The text of a Warning header, `299 - "text"`. */
function warningText(header: string): string {
  const quoted = /^299 - (".*")$/s.exec(header)?.[1];
  if (quoted === undefined) throw new Error(`not a Warning header of the API: ${header}`);
  return quoted.slice(1, -1).replaceAll(/\\(.)/gs, '$1');
}
