import { Counter, type Registry } from 'prom-client';

/** What became of an Event: written, not taken by the server, or left out as there were too many. */
export type EventResult = 'written' | 'failed' | 'dropped';

export interface EventMetrics {
  ended(result: EventResult): void;
}

const RESULTS: readonly EventResult[] = ['written', 'failed', 'dropped'];

/** Registers the metrics of Events in `registry`. */
export function createEventMetrics(registry: Registry): EventMetrics {
  const events = new Counter({
    name: 'cle_events_total',
    help: 'Events on Leases: written (repeats of an earlier one counted up among them), failed, or dropped by a rate limit',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of RESULTS) events.inc({ result }, 0);
  return { ended: (result) => events.inc({ result }) };
}
