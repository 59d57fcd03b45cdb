import type { ServerResponse } from 'node:http';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { connectParticipant } from '../../participant/participant.ts';
import type { ParticipantState, ParticipateOptions } from '../../participant/participant-options.ts';
import type { Term } from '../../participant/term.ts';
import type { ParticipateSettings } from '../../settings/participate-settings.ts';
import { type Clock, type Instant, sleep } from '../../support/clock.ts';
import { type Environment, type Host, untilAborted } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** The options of a participant, and its connection to the cluster. */
export interface Participation extends ParticipateOptions {
  readonly namespace: string;
  /** The connection. The caller closes it. */
  readonly client: KubernetesClient;
  readonly logger: Logger;
}

/**
 * Builds the options from the settings and the environment.
 *
 * @throws {Error} if there is no cluster, or the file of labels cannot be used.
 */
export function participationOf(
  lease: string,
  settings: ParticipateSettings,
  host: Host,
  logger: Logger,
): Participation {
  const { identity, binaryVersion, emulationVersion, strategy, priority } = settings;
  const { leaseDurationSeconds, renewDeadlineMs, retryPeriodMs, candidateOnly } = settings;
  const { client, namespace, podNamespace } = clusterOf(settings, host);
  const pod = podIn(host.env, podNamespace);
  return {
    client,
    namespace,
    lease,
    binaryVersion,
    priority,
    labels: settings.labels,
    leaseDurationMs: leaseDurationSeconds * 1000,
    renewDeadlineMs,
    retryPeriodMs,
    candidateOnly,
    clock: host.clock,
    logger,
    ...(identity !== undefined && { identity }),
    ...(emulationVersion !== undefined && { emulationVersion }),
    ...(strategy !== undefined && { strategy }),
    ...(pod && { pod }),
  };
}

/** Formats the name of the Lease for logs and answers. */
export function leaseOf({ namespace, lease }: Participation): string {
  return `${namespace}/${lease}`;
}

/** The current leader, in the sidecar's answer to the program in the same pod. */
interface LeaderAccount {
  /** The Lease, `namespace/name`. */
  readonly lease: string;
  /** The identity of this candidate. */
  readonly identity: string;
  /** Empty if no leader is known. */
  readonly holder: string;
  /** Whether this candidate leads. */
  readonly leading: boolean;
  /** The fencing token of the term; absent if this candidate does not lead. */
  readonly fencingToken?: number;
  /**
   * How long the program may lead without another request, in milliseconds from the start of the request. 0 if it must
   * not lead, and always 0 if programs use connections to lead (rule 18).
   */
  readonly validForMs: number;
}

interface LeadershipParts {
  readonly clock: Clock;
  readonly lease: string;
  readonly identity: () => string;
  /** The connections by which programs lead; undefined if they lead by promises. */
  readonly connections?: { lead(term: Term): Promise<void> } | undefined;
}

/**
 * Maximum `validForMs`. The Lease is released only after all promises have expired, or after the program has
 * acknowledged.
 */
export const MAX_PROMISE_MS = 5000;

/**
 * The current leader, according to the observation of the Lease and the term of this candidate. It stores only when the
 * last promise expires.
 */
export class Leadership {
  readonly #parts: LeadershipParts;
  readonly #listeners = new Set<() => void>();
  #holder = '';
  #term: Term | undefined;
  #promisedUntil: Instant;
  #acknowledged = new AbortController();

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    // An earlier process with the same identity may have given a promise just before it ended.
    this.#promisedUntil = parts.clock.now() + MAX_PROMISE_MS;
  }

  /** Leads for the program. Resolves after the program has stopped leading. */
  readonly lead = async (term: Term): Promise<void> => {
    this.#term = term;
    this.#acknowledged = new AbortController();
    this.#tell();
    const led = this.#parts.connections?.lead(term);
    await untilAborted(term.signal);
    this.#tell();
    await (led ?? this.#untilPromisesExpire(term));
    this.#term = undefined;
  };

  readonly observe = ({ holder = '' }: ParticipantState): void => {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#tell();
  };

  /**
   * Records that the program has stopped leading, or will not start. The Lease can then be released before the promises
   * expire.
   */
  acknowledge(): void {
    this.#acknowledged.abort();
  }

  /** Returns the current leader. The reader may rely on it for `validForMs`. */
  account(): LeaderAccount {
    const { clock, lease } = this.#parts;
    const identity = this.#parts.identity();
    const term = this.#term;
    const mayLeadMs = !term || term.signal.aborted ? 0 : term.remainingMs();
    if (term && mayLeadMs > 0) {
      const validForMs = this.#parts.connections ? 0 : Math.floor(Math.min(mayLeadMs, MAX_PROMISE_MS));
      this.#promisedUntil = Math.max(this.#promisedUntil, clock.now() + validForMs);
      return {
        lease,
        identity,
        holder: identity,
        leading: true,
        fencingToken: term.fencingToken,
        validForMs,
      };
    }
    // The term of this candidate is more recent than the observed holder.
    const holder = this.#holder === identity ? '' : this.#holder;
    return { lease, identity, holder, leading: false, validForMs: 0 };
  }

  /** Calls `listener` after each change, except a change without an event. The returned function removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #untilPromisesExpire(term: Term): Promise<void> {
    const { clock } = this.#parts;
    // Do not wait longer than the term: another holder may have taken the Lease by force.
    const waitMs = Math.min(this.#promisedUntil - clock.now(), term.remainingMs());
    if (waitMs > 0) await sleep(clock, waitMs, this.#acknowledged.signal);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Maximum number of open streams. Further requests must retry later. */
export const MAX_STREAMS = 64;

/** Interval of repeats, in milliseconds. A promise must not expire while the candidate leads. */
export const REPEAT_INTERVAL_MS = 2000;

/** Maximum unread bytes. A slower reader is disconnected. */
const MAX_UNREAD_BYTES = 65_536;

/** The headers of a stream of server-sent events. The last header disables the buffering of proxies. */
export const EVENT_STREAM = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-Accel-Buffering': 'no',
} as const;

/** Formats a server-sent event. */
export function eventText(event: 'change' | 'heartbeat', data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Streams of server-sent events: they contain each change of the leader, and repeats between changes. */
export class LeadershipStreams {
  readonly #clock: Clock;
  readonly #leadership: Leadership;
  readonly #readers = new Set<ServerResponse>();
  #cancelBeat: (() => void) | undefined;
  #forget: (() => void) | undefined;

  constructor({ clock, leadership }: { clock: Clock; leadership: Leadership }) {
    this.#clock = clock;
    this.#leadership = leadership;
  }

  /** Writes the current leader and all changes to `response` until it is closed. */
  join(response: ServerResponse): void {
    if (this.#readers.size >= MAX_STREAMS) {
      response
        .writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '10' })
        .end('too many watch already\n');
      return;
    }
    response.writeHead(200, EVENT_STREAM);
    this.#readers.add(response);
    response.on('close', () => this.#leave(response));
    response.on('error', () => this.#leave(response));
    this.#write(response, 'change');
    this.#forget ??= this.#leadership.onChange(() => this.#tell('change'));
    this.#cancelBeat ??= this.#clock.setTimer(() => this.#beat(), REPEAT_INTERVAL_MS);
  }

  /** Ends all streams. */
  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#rest();
  }

  #beat(): void {
    this.#cancelBeat = this.#clock.setTimer(() => this.#beat(), REPEAT_INTERVAL_MS);
    this.#tell('heartbeat');
  }

  #tell(event: 'change' | 'heartbeat'): void {
    for (const reader of this.#readers) {
      if (reader.writableLength > MAX_UNREAD_BYTES) reader.destroy();
      else this.#write(reader, event);
    }
  }

  #write(reader: ServerResponse, event: 'change' | 'heartbeat'): void {
    reader.write(eventText(event, this.#leadership.account()));
  }

  #leave(reader: ServerResponse): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#rest();
  }

  #rest(): void {
    this.#cancelBeat?.();
    this.#forget?.();
    this.#cancelBeat = undefined;
    this.#forget = undefined;
  }
}

function clusterOf({ kubeconfig, context, namespace }: ParticipateSettings, { clock, env }: Host) {
  const userAgent = 'coordinated-leader-election-participate';
  return connectParticipant({ kubeconfig, context, env, clock, userAgent, namespace });
}

/**
 * Reads the pod from the usual environment variables of the downward API. The namespace may come from the service
 * account.
 */
function podIn(
  { POD_NAME: name, POD_UID: uid, POD_NAMESPACE }: Environment,
  podNamespace: string | undefined,
): ParticipateOptions['pod'] {
  if (!name || !uid) return undefined;
  const namespace = POD_NAMESPACE || podNamespace;
  return { name, uid, ...(namespace !== undefined && { namespace }) };
}
