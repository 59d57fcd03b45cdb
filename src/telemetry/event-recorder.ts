import { FIELD_MANAGER } from '../coordination/lease.ts';
import { formatMicroTime } from '../coordination/micro-time.ts';
import type { MicroTime } from '../election/time.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { type Clock, sleep, within } from '../support/clock.ts';
import { EventBacklog } from './event-backlog.ts';
import { type CorrelatedEvent, createEventCorrelator } from './event-correlator.ts';
import type { EventMetrics } from './event-metrics.ts';
import type { LeaseEvent } from './lease-event.ts';
import { fullBucket, takeToken } from './token-bucket.ts';

/** What an {@link EventRecorder} needs. */
export interface EventRecorderParts {
  /** With connections of its own, so that Events never keep an election waiting. */
  readonly client: Pick<KubernetesClient, 'request'>;
  readonly clock: Clock;
  /** Where this process runs, as Events say it. */
  readonly host: string;
  readonly metrics: EventMetrics;
  /** An Event was not taken by the server; it is not written again. */
  readonly onFailure: (error: unknown) => void;
}

/** Writes Events on Leases, namespaces in turn and each in its order, one at a time, beside everything else and without ever holding it up. */
export interface EventRecorder {
  /** Neither throws nor waits. */
  record(event: LeaseEvent): void;
  /** Takes no more, and goes on with those that wait for 2 s at most. */
  stop(): Promise<void>;
}

interface Recorded {
  readonly event: LeaseEvent;
  readonly time: MicroTime;
}

/** Events that wait to be written; what comes on top of them costs one of the namespace that has the most. */
const MAX_WAITING = 1000;
/** For all Leases together: the elections of a whole cluster at once show soon, and a storm leaves the server its peace. */
const RATE = { burst: 100, perSecond: 20 };
/** Events wait so long, in milliseconds: the elections that they tell of come in crowds, and the server has those to see to first. */
const LINGER_MS = 1000;
const DEADLINE_MS = 5000;
/** Nobody waits for this but whoever stops the program; what led to that may be among the Events that wait. */
const DRAIN_MS = 2000;
/** As long as an object's name may be. */
const MAX_NAME = 253;

/** Makes a recorder that writes core/v1 Events, which `kubectl describe lease` shows. */
export function createEventRecorder(parts: EventRecorderParts): EventRecorder {
  const { client, clock, metrics, onFailure } = parts;
  const correlator = createEventCorrelator();
  const closing = new AbortController();
  const stopping = new AbortController();
  const waiting = new EventBacklog<Recorded>(MAX_WAITING);
  let bucket = fullBucket(RATE, clock.now());
  let lastSuffix = 0n;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    await sleep(clock, LINGER_MS, closing.signal);
    while (waiting.size > 0) {
      await untilAllowed();
      const next = waiting.shift();
      if (!next) break;
      if (stopping.signal.aborted) metrics.ended('dropped');
      else await writeOrTell(next);
    }
    writing = undefined;
  }

  async function writeOrTell(recorded: Recorded): Promise<void> {
    try {
      await write(recorded);
      metrics.ended('written');
    } catch (error) {
      metrics.ended('failed');
      if (!stopping.signal.aborted && !isNamespaceGoing(error)) onFailure(error);
    }
  }

  async function untilAllowed(): Promise<void> {
    for (;;) {
      const taken = takeToken(bucket, RATE, clock.now());
      bucket = taken.bucket;
      if (taken.waitMs === 0 || stopping.signal.aborted) return;
      await sleep(clock, taken.waitMs, stopping.signal);
    }
  }

  async function write(recorded: Recorded): Promise<void> {
    const correlated = correlator.correlate(recorded.event, clock.now());
    const { key, repeated } = correlated;
    if (repeated) {
      try {
        const count = repeated.count + 1;
        await send(countUp(recorded, correlated, repeated.name, count));
        correlator.written(key, { ...repeated, count });
        return;
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
        correlator.gone(key);
      }
    }
    // As client-go's: by the time, and so unlike that of any other replica. One process never names two alike.
    const now = clock.wallTime() * 1000n;
    lastSuffix = now > lastSuffix ? now : lastSuffix + 1n;
    const name = eventName(recorded.event.lease.name, lastSuffix.toString(16));
    await send(create(recorded, correlated.message, name, parts.host));
    correlator.written(key, { name, count: 1 });
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
    record(event) {
      if (closing.signal.aborted || !correlator.admits(event, clock.now())) {
        metrics.ended('dropped');
        return;
      }
      const { namespace } = event.lease;
      if (waiting.push(namespace, { event, time: clock.wallTime() }) === 'dropped') metrics.ended('dropped');
      writing ??= writeAll();
    },
    async stop() {
      closing.abort();
      await within(clock, DRAIN_MS, writing);
      stopping.abort();
      await writing;
    },
  };
}

function create({ event, time }: Recorded, message: string, name: string, host: string): ApiRequest {
  const { lease, type, reason } = event;
  const { namespace } = lease;
  const timestamp = wholeSeconds(time);
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

function countUp(
  { event, time }: Recorded,
  { message }: CorrelatedEvent,
  name: string,
  count: number,
): ApiRequest {
  return {
    method: 'PATCH',
    path: `${eventsPath(event.lease.namespace)}/${encodeURIComponent(name)}`,
    contentType: 'application/merge-patch+json',
    body: { count, lastTimestamp: wholeSeconds(time), message },
  };
}

function eventsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
}

function eventName(lease: string, suffix: string): string {
  const room = MAX_NAME - suffix.length - 1;
  return `${lease.slice(0, room).replace(/[-.]+$/, '')}.${suffix}`;
}

/** The core group's Events have no fractions of seconds. */
function wholeSeconds(time: MicroTime): string {
  return formatMicroTime(time).replace(/\.\d+/, '');
}

/** Whoever deletes a whole namespace does not want to hear of its Leases. */
function isNamespaceGoing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 404 || (error.status === 403 && error.message.includes('is being terminated'));
}
