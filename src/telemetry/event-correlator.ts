import type { Instant } from '../support/clock.ts';
import type { LeaseEvent } from './lease-event.ts';
import { createRecentMap } from './recent-map.ts';
import { fullBucket, type TokenBucket, takeToken } from './token-bucket.ts';

/** An Event that was written, so that its repeats can be counted up in it. */
export interface WrittenEvent {
  readonly name: string;
  readonly count: number;
}

/** How an Event is to be written. */
export interface CorrelatedEvent {
  /** To hand back to {@link EventCorrelator.written}. */
  readonly key: string;
  readonly message: string;
  /** Set when it repeats one that was written. */
  readonly repeated: WrittenEvent | undefined;
}

/**
 * Keeps a Lease that a lot happens to from flooding the cluster with Events, by the rules that client-go's recorder has:
 * what is the same is counted up in one Event, of what is alike only so many are kept apart, and each Lease may have only
 * so many at all.
 */
export interface EventCorrelator {
  /** Whether the Lease may have one more Event now. */
  admits(event: LeaseEvent, at: Instant): boolean;
  correlate(event: LeaseEvent, at: Instant): CorrelatedEvent;
  written(key: string, written: WrittenEvent): void;
  /** The Event is not there any more: by default the server keeps them for an hour. */
  gone(key: string): void;
}

/** Of each kind; what is forgotten is merely written as something new. */
const REMEMBERED = 4096;
/** 25 at once, then one every five minutes. */
const LEASE_RATE = { burst: 25, perSecond: 1 / 300 };
/** So many messages of one reason are told apart, within so many milliseconds of each other. */
const MAX_SIMILAR = 10;
const SIMILAR_WITHIN_MS = 10 * 60_000;

interface Similar {
  readonly messages: ReadonlySet<string>;
  readonly lastAt: Instant;
}

/** Makes a correlator that has seen nothing yet. */
export function createEventCorrelator(): EventCorrelator {
  const buckets = createRecentMap<TokenBucket>(REMEMBERED);
  const similarities = createRecentMap<Similar>(REMEMBERED);
  const events = createRecentMap<WrittenEvent>(REMEMBERED);
  return {
    admits({ lease }, at) {
      const key = `${lease.namespace}/${lease.name}`;
      const { bucket, waitMs } = takeToken(buckets.get(key) ?? fullBucket(LEASE_RATE, at), LEASE_RATE, at);
      buckets.set(key, bucket);
      return waitMs === 0;
    },
    correlate({ lease, type, reason, message }, at) {
      const group = [lease.namespace, lease.name, lease.uid, type, reason].join('\n');
      const known = similarities.get(group);
      const isRecent = known !== undefined && at - known.lastAt <= SIMILAR_WITHIN_MS;
      const messages = new Set(isRecent ? known.messages : []);
      const isNew = !messages.has(message);
      const isCombined = isNew && messages.size >= MAX_SIMILAR;
      if (!isCombined) messages.add(message);
      similarities.set(group, { messages, lastAt: at });
      const key = isCombined ? group : `${group}\n${message}`;
      return {
        key,
        message: isCombined ? `(combined from similar events): ${message}` : message,
        repeated: events.get(key),
      };
    },
    written: (key, written) => events.set(key, written),
    gone: (key) => events.delete(key),
  };
}
