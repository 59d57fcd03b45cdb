import { FIELD_MANAGER } from '../coordination/lease.ts';
import { leaseKey } from '../coordination/lease-key.ts';
import { formatSeconds } from '../coordination/micro-time.ts';
import type { MicroTime } from '../election/model.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { hasStatus } from '../kubernetes/errors.ts';
import { type Clock, type Instant, sleep, within } from '../support/clock.ts';
import type { LeaseEvent } from './lease-event.ts';
import { createRateLimits, createRecentMap, createTokenBucket } from './log-budget.ts';
import type { EventResult } from './metrics.ts';

interface EventRecorderParts {
  /** A client only for Events, so that Events do not use up the connections that elections need. */
  readonly client: Pick<KubernetesClient, 'request'>;
  readonly clock: Clock;
  /** The host name of this replica. Each Event contains it as the host of its `source`. */
  readonly host: string;
  readonly onEnd: (result: EventResult) => void;
  /**
   * Called for each failed write, unless `stop` has aborted the write, or the namespace is terminating or gone. The
   * recorder does not retry the write.
   */
  readonly onFailure: (error: unknown) => void;
}

interface Recorded extends LeaseEvent {
  readonly time: MicroTime;
}

const MAX_WAITING = 1000;
/** Rate limit for the Events of all Leases together. It allows a burst of elections, but no lasting heavy load. */
const RATE = { burst: 100, perSecond: 20 };

/**
 * Delay before an idle recorder starts to write Events, in milliseconds. In a burst of elections, the API server can
 * then handle the writes of the elections first.
 */
const WRITE_DELAY_MS = 1000;
const DEADLINE_MS = 5000;

/**
 * Timeout for writing the queued Events when the program stops, in milliseconds. The recorder still writes these
 * Events: some report the last grants of this replica, and no other replica reports those grants.
 */
const DRAIN_MS = 2000;
const MAX_NAME = 253;

/**
 * Creates a recorder that writes core/v1 Events in the background, one at a time. Namespaces take turns, so that many
 * Events of one namespace do not delay the Events of the others. Events of one namespace stay in order.
 */
export function createEventRecorder({ client, clock, host, onEnd, onFailure }: EventRecorderParts) {
  const correlator = createEventCorrelator();
  const closing = new AbortController();
  const stopping = new AbortController();
  const waiting = new EventBacklog();
  const takeToken = createTokenBucket(RATE, clock.now());
  let lastSuffix = 0n;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    await sleep(clock, WRITE_DELAY_MS, closing.signal);
    while (waiting.size > 0) {
      await untilAllowed();
      const next = waiting.shift();
      if (!next) break;
      if (stopping.signal.aborted) onEnd('dropped');
      else await writeOrTell(next);
    }
    writing = undefined;
  }

  async function writeOrTell(event: Recorded): Promise<void> {
    try {
      await write(event);
      onEnd('written');
    } catch (error) {
      onEnd('failed');
      const isTerminating = hasStatus(error, 403) && error.message.includes('is being terminated');
      const isNamespaceGone = hasStatus(error, 404) || isTerminating;
      if (!stopping.signal.aborted && !isNamespaceGone) onFailure(error);
    }
  }

  async function untilAllowed(): Promise<void> {
    for (;;) {
      const waitMs = takeToken(clock.now());
      if (waitMs === 0 || stopping.signal.aborted) return;
      await sleep(clock, waitMs, stopping.signal);
    }
  }

  async function write(event: Recorded): Promise<void> {
    const repeated = correlator.repeatedBy(event);
    if (repeated) {
      try {
        const count = repeated.count + 1;
        await send(countUp(event, repeated.name, count));
        correlator.written(event, repeated.name, count);
        return;
      } catch (error) {
        if (!hasStatus(error, 404)) throw error;
        correlator.gone(event);
      }
    }
    // The name ends with the time, as in client-go. If the clock has not advanced since the last name, use the time in
    // the last name plus 1, so that no two names are equal.
    const now = clock.wallTime() * 1000n;
    lastSuffix = now > lastSuffix ? now : lastSuffix + 1n;
    const name = eventName(event.lease.name, lastSuffix.toString(16));
    await send(create(event, name, host));
    correlator.written(event, name, 1);
  }

  async function send(request: ApiRequest): Promise<void> {
    await client.request({
      ...request,
      query: { fieldManager: FIELD_MANAGER },
      deadlineMs: DEADLINE_MS,
      signal: stopping.signal,
    });
  }

  return {
    /** Queues an Event. Drops an Event if a limit is reached or after `stop`. Returns at once and does not throw. */
    record(event: LeaseEvent): void {
      if (closing.signal.aborted || !correlator.admits(event, clock.now())) {
        onEnd('dropped');
        return;
      }
      waiting.push({ ...event, time: clock.wallTime() });
      if (waiting.size > MAX_WAITING) {
        waiting.dropLatestOfLongest();
        onEnd('dropped');
      }
      writing ??= writeAll();
    },
    /** Stops accepting Events. Writes the queued Events for at most 2 s, and drops the rest. */
    async stop(): Promise<void> {
      closing.abort();
      await within(clock, DRAIN_MS, writing);
      stopping.abort();
      await writing;
    },
  };
}

/**
 * Maximum number of Events, and of Leases, that the correlator remembers. If a forgotten Event is repeated, the
 * recorder creates a new Event instead of increasing the count of the old one.
 */
const REMEMBERED = 4096;

const LEASE_RATE = { burst: 25, perSecond: 1 / 300 };

/**
 * Limits Events as client-go's recorder does: a repeated Event only increases the count of the first Event, and each
 * Lease has a rate limit.
 */
export function createEventCorrelator() {
  const takeToken = createRateLimits(LEASE_RATE, REMEMBERED);
  const events = createRecentMap<{ readonly name: string; readonly count: number }>(REMEMBERED);
  return {
    /** Takes a token from the rate limit of the Event's Lease. Returns false if no token is left. */
    admits: ({ lease }: LeaseEvent, at: Instant): boolean =>
      takeToken(leaseKey(lease.namespace, lease.name), at),
    /** Returns the remembered Event with the same Lease, type, reason and message; undefined if there is none. */
    repeatedBy: (event: LeaseEvent) => events.get(keyOf(event)),
    written: (event: LeaseEvent, name: string, count: number) => events.set(keyOf(event), { name, count }),
    /** Forgets an Event that the API server has deleted. By default, the API server deletes an Event after an hour. */
    gone: (event: LeaseEvent): void => events.delete(keyOf(event)),
  };
}

function keyOf({ lease, type, reason, message }: LeaseEvent): string {
  return [lease.namespace, lease.name, lease.uid, type, reason, message].join('\n');
}

function create({ lease, type, reason, message, time }: Recorded, name: string, host: string): ApiRequest {
  const { namespace } = lease;
  const timestamp = formatSeconds(time);
  return {
    method: 'POST',
    path: eventsPath(namespace),
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name },
      involvedObject: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease },
      type,
      reason,
      message,
      source: { component: FIELD_MANAGER, host },
      reportingComponent: FIELD_MANAGER,
      reportingInstance: host,
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      count: 1,
    },
  };
}

function countUp({ lease, time }: Recorded, name: string, count: number): ApiRequest {
  return {
    method: 'PATCH',
    path: `${eventsPath(lease.namespace)}/${encodeURIComponent(name)}`,
    contentType: 'application/merge-patch+json',
    body: { count, lastTimestamp: formatSeconds(time) },
  };
}

function eventsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
}

function eventName(lease: string, suffix: string): string {
  const room = MAX_NAME - suffix.length - 1;
  return `${lease.slice(0, room).replace(/[-.]+$/, '')}.${suffix}`;
}

/** A queue of Events in which namespaces take turns: each `shift` takes an Event of the next namespace. */
class EventBacklog {
  /** The queued Events of each namespace. The namespace whose turn is next comes first. No list is empty. */
  readonly #byNamespace = new Map<string, Recorded[]>();
  size = 0;

  push(event: Recorded): void {
    const { namespace } = event.lease;
    const events = this.#byNamespace.get(namespace) ?? [];
    events.push(event);
    this.#byNamespace.set(namespace, events);
    this.size++;
  }

  shift(): Recorded | undefined {
    for (const [namespace, events] of this.#byNamespace) {
      this.#byNamespace.delete(namespace);
      const event = events.shift();
      if (events.length > 0) this.#byNamespace.set(namespace, events);
      this.size--;
      return event;
    }
    return undefined;
  }

  /** Drops the latest Event of the namespace with the most Events. */
  dropLatestOfLongest(): void {
    let [longest = ['', []]] = this.#byNamespace;
    for (const entry of this.#byNamespace) if (entry[1].length > longest[1].length) longest = entry;
    const [namespace, events] = longest;
    events.pop();
    if (events.length === 0) this.#byNamespace.delete(namespace);
    this.size--;
  }
}
