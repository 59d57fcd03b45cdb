import type { LeaseEvent } from '../../src/telemetry/lease-event.ts';

/** A fixed Event about one Lease. */
export function makeLeaseEvent(fields: Partial<LeaseEvent> = {}): LeaseEvent {
  return {
    lease: { namespace: 'default', name: 'scheduler', uid: 'uid-1', resourceVersion: '7' },
    type: 'Normal',
    reason: 'LeaderElected',
    message: 'a leads',
    ...fields,
  };
}
