import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type WatchedStream, watchedStream } from './watched-stream.ts';

/** Which API a server serves. */
export interface ServedApi {
  readonly name: string;
  /** Of the Kubernetes version that it is, or is like: 31, 32, 33, 36. */
  readonly minor: number;
  /** The served versions of LeaseCandidate, the preferred one first. */
  readonly candidateVersions: readonly [string, ...string[]];
  /** Whether it serves LeaseCandidates of this project's own group. */
  readonly hasCustomCandidates: boolean;
}

/** An API server that the conformance suite and the differential test ask. */
export interface ConformanceTarget extends ServedApi {
  /** Somebody who may only get, list and watch Leases, LeaseCandidates and namespaces. */
  readonly reader: { readonly token: string; readonly user: string };
  /** A user who may only update and patch Leases. */
  readonly changer: { readonly token: string; readonly user: string };
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** @throws Error when the answer is not 200: refused watches are asked for by `request`. */
  watch(path: string, options?: RequestOptions): Promise<WatchedStream>;
  /** Makes all revisions but the latest unknown, as time does. */
  compact(): Promise<void>;
}

/** A target that somebody has to stop. */
export interface RunningTarget {
  readonly target: ConformanceTarget;
  stop(): Promise<void>;
}

/** What a request carries. */
export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is. */
  readonly rawBody?: string | Buffer;
  /** Default `application/json`, where there is a body; '' for none. */
  readonly contentType?: string;
  /** Default `application/json`. */
  readonly accept?: string;
  /** Default `conformance/1.0`, so that the field manager is `conformance`. */
  readonly userAgent?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default the administrator's; '' for none. */
  readonly token?: string;
}

/** What a server answered. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  /** The texts of its Warning headers. */
  readonly warnings: readonly string[];
  readonly text: string;
  /** The body, as most tests look at it: what it is, their expectations say. */
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

/** Metadata of an object or a list; most fields are on one of them only. */
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

/** How to reach a server as its administrator. */
export interface TargetAccess {
  readonly url: string;
  /** PEM of the certificate to trust; absent for plain HTTP. */
  readonly ca?: string;
  readonly token: string;
}

/** The part of a {@link ConformanceTarget} that is the same for every server, over connections that are kept. */
export interface Requester extends Pick<ConformanceTarget, 'request' | 'watch'> {
  close(): void;
}

/** No request takes longer on any server. */
const timeout = 30_000;

/** Requests to one server. */
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
      // Not `new URL`: it would tidy up paths that a server has to judge.
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
