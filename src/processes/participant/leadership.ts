import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { KubernetesClient } from '../../kubernetes/client.ts';
import { connectParticipant } from '../../participant/participant-client.ts';
import type { ParticipantState } from '../../participant/participant-state.ts';
import type { ParticipateOptions } from '../../participant/participate-options.ts';
import type { Term } from '../../participant/term.ts';
import {
  type CandidateLabels,
  labelsInFile,
  type ParticipateSettings,
} from '../../settings/participate-settings.ts';
import { type Clock, type Instant, sleep } from '../../support/clock.ts';
import { withContext } from '../../support/files.ts';
import { type Environment, type Host, untilAborted } from '../../support/host.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** How a command takes part: what its participant is given, cluster included. */
export interface Participation extends ParticipateOptions {
  readonly namespace: string;
  /** To be closed when all is over. */
  readonly client: KubernetesClient;
  readonly logger: Logger;
}

/**
 * What the settings and the environment make of it.
 *
 * @throws {Error} when there is no cluster to talk to, or the file of labels cannot be used.
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
  const labels = labelsOf(settings.labels);
  return {
    client,
    namespace,
    lease,
    binaryVersion,
    priority,
    labels,
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

/** As logs and answers have it. */
export function leaseOf({ namespace, lease }: Participation): string {
  return `${namespace}/${lease}`;
}

/** Who leads, as a program beside this one is told it. */
interface LeaderAccount {
  /** `namespace/name`. */
  readonly lease: string;
  /** Of the candidate that this process stands for. */
  readonly identity: string;
  /** Empty: nobody is known to lead. */
  readonly holder: string;
  /** Whether that is this candidate. */
  readonly leading: boolean;
  /** Of the term; absent while another leads. */
  readonly fencingToken?: number;
  /** For so long the program may lead without asking again, counted from when it began to ask; 0 while it must not. */
  readonly validForMs: number;
}

/** What a {@link Leadership} is about. */
interface LeadershipParts {
  readonly clock: Clock;
  readonly lease: string;
  readonly identity: () => string;
}

/**
 * Nobody is told for longer than this, in milliseconds, that the program may lead: a Lease that is given up in good order is
 * not released before everything that was told of it has run out.
 */
export const LONGEST_PROMISE_MS = 5000;

/** What is known of the leader at this very moment; nothing that is told is ever remembered, but for how long it holds. */
export class Leadership {
  readonly #parts: LeadershipParts;
  readonly #listeners = new Set<() => void>();
  #holder = '';
  #term: Term | undefined;
  #promisedUntil: Instant;
  #acknowledged = new AbortController();

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
    // An earlier process of this pod, under the same identity, may have said something right before it ended.
    this.#promisedUntil = parts.clock.now() + LONGEST_PROMISE_MS;
  }

  /** Leads in the name of the program; resolves once nobody believes any more that it leads. */
  readonly lead = async (term: Term): Promise<void> => {
    this.#term = term;
    this.#acknowledged = new AbortController();
    this.#tell();
    await untilAborted(term.signal);
    this.#tell();
    const { clock } = this.#parts;
    // A Lease that another has taken by force is not to be kept by waiting.
    const waitMs = Math.min(this.#promisedUntil - clock.now(), term.until());
    if (waitMs > 0) await sleep(clock, waitMs, this.#acknowledged.signal);
    this.#term = undefined;
  };

  /** What the participant has observed. */
  readonly observe = ({ holder = '' }: ParticipantState): void => {
    if (holder === this.#holder) return;
    this.#holder = holder;
    this.#tell();
  };

  /** The program has ended what it led, or will not begin: nothing that it was told need run out. */
  acknowledge(): void {
    this.#acknowledged.abort();
  }

  /** What is so now. Whoever is told may rely on it for `validForMs`. */
  account(): LeaderAccount {
    const { clock, lease } = this.#parts;
    const identity = this.#parts.identity();
    const term = this.#term;
    const mayLeadMs = !term || term.signal.aborted ? 0 : term.until();
    if (term && mayLeadMs > 0) {
      const validForMs = Math.floor(Math.min(mayLeadMs, LONGEST_PROMISE_MS));
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
    // What was observed of this candidate itself is older than what its term says.
    const holder = this.#holder === identity ? '' : this.#holder;
    return { lease, identity, holder, leading: false, validForMs: 0 };
  }

  /** Calls `listener` whenever the account has changed otherwise than by time, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** So many may watch at once; whoever comes later is told to wait. */
const MOST_STREAMS = 64;

/** In milliseconds: what a reader was told must not run out as long as it is so. */
const BEAT_MS = 2000;

/** In bytes: a reader that takes nothing for longer is gone. */
const MOST_UNREAD = 65_536;

/** Tells everybody who watches of each change, and between changes that it is still so: server-sent events. */
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

  /** Tells `response` how it is, and all that comes, until it is closed. */
  join(response: ServerResponse): void {
    if (this.#readers.size >= MOST_STREAMS) {
      response
        .writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '10' })
        .end('too many watch already\n');
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    this.#readers.add(response);
    response.on('close', () => this.#leave(response));
    response.on('error', () => this.#leave(response));
    this.#write(response, 'change');
    this.#forget ??= this.#leadership.onChange(() => this.#tell('change'));
    this.#cancelBeat ??= this.#clock.setTimer(() => this.#beat(), BEAT_MS);
  }

  /** Ends all of them. */
  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#rest();
  }

  #beat(): void {
    this.#cancelBeat = this.#clock.setTimer(() => this.#beat(), BEAT_MS);
    this.#tell('heartbeat');
  }

  #tell(event: 'change' | 'heartbeat'): void {
    for (const reader of this.#readers) {
      if (reader.writableLength > MOST_UNREAD) reader.destroy();
      else this.#write(reader, event);
    }
  }

  #write(reader: ServerResponse, event: 'change' | 'heartbeat'): void {
    reader.write(`event: ${event}\ndata: ${JSON.stringify(this.#leadership.account())}\n\n`);
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
  const connected = connectParticipant({ kubeconfig, context, env, clock, userAgent });
  return { ...connected, namespace: namespace ?? connected.namespace };
}

/** As the downward API tells it, under the names that are customary; the service account tells the namespace, too. */
function podIn(
  { POD_NAME: name, POD_UID: uid, POD_NAMESPACE }: Environment,
  podNamespace: string | undefined,
): ParticipateOptions['pod'] {
  if (!name || !uid) return undefined;
  const namespace = POD_NAMESPACE || podNamespace;
  return { name, uid, ...(namespace !== undefined && { namespace }) };
}

function labelsOf(labels: CandidateLabels): Readonly<Record<string, string>> {
  if ('given' in labels) return labels.given;
  return withContext(`--labels @${labels.file}`, () => labelsInFile(readFileSync(labels.file, 'utf8')));
}
