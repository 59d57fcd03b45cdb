import { Counter, Gauge, type Registry } from 'prom-client';

/** client-go's metrics of leader election, under its names. */
export interface ParticipantMetrics {
  leads(isLeading: boolean): void;
  /** A renewal was refused, as the Lease had changed, so that it had to be read first. */
  slowpathExercised(): void;
}

/** Metrics of taking part in the election of `name`. All participants of a program can share one registry. */
export function createParticipantMetrics(registry: Registry, name: string): ParticipantMetrics {
  const status = registered(
    registry,
    'leader_election_master_status',
    (metric) =>
      new Gauge({
        name: metric,
        help: 'Whether this program leads: 1, or 0 while it stands by. name is the Lease.',
        labelNames: ['name'],
        registers: [registry],
      }),
  );
  const slowpath = registered(
    registry,
    'leader_election_slowpath_total',
    (metric) =>
      new Counter({
        name: metric,
        help: 'Renewals that had to read the Lease first, as it had changed. name is the Lease.',
        labelNames: ['name'],
        registers: [registry],
      }),
  );
  status.set({ name }, 0);
  slowpath.inc({ name }, 0);
  return {
    leads: (isLeading) => status.set({ name }, isLeading ? 1 : 0),
    slowpathExercised: () => slowpath.inc({ name }),
  };
}

function registered<T>(registry: Registry, name: string, make: (name: string) => T): T {
  return (registry.getSingleMetric(name) as T | undefined) ?? make(name);
}
