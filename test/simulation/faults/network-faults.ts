import type { Chance } from '../chance.ts';
import type { Disturbance } from '../sim-link.ts';
import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault, type Population } from './fault.ts';

interface LinkArgs {
  /** A slot, a replica, a replica's connection for its lock, or all processes. */
  readonly target: string;
  readonly disturbance: Omit<Disturbance, 'kind'>;
  readonly forMs: number;
}

const EVERYBODY = 'everybody';
/**
 * After a disturbance, a process times out a hanging request after 10 s, and has repeated everything within this
 * time, in milliseconds.
 */
const LOOK_MS = 15_000;
const RECONNECTED = {
  ms: 45_000,
  why: 'a failed request is repeated within 10 s; the lock expires 15 s after its last renewal, and its new holder waits for 15 s',
};
const LISTED = {
  ms: 135_000,
  why: 'a lost list is given up after 60 s; a Lease of 60 s that the next list shows as renewed expires',
};
const RESUMED = {
  ms: 110_000,
  why: 'a stalled watch is started again after 90 s, with up to 10 s of backoff',
};

function pickTarget(chance: Chance, { slots, replicas }: Population): string {
  if (chance.is(0.2)) return EVERYBODY;
  const ours = replicas.flatMap(({ name }) => [name, `${name}-lock`]);
  const target = chance.is(0.5) ? chance.pick(ours) : chance.pick(slots)?.name;
  return target ?? EVERYBODY;
}

function linksOf({ network }: SimWorld, target: string) {
  return target === EVERYBODY ? network.links : network.linksOf(target);
}

function connectionsOf({ network }: SimWorld, target: string) {
  return target === EVERYBODY ? network.connections : network.connectionsOf(target);
}

/** Disturbs the requests of one process, or of all, for a while. */
function disturbed(
  kind: string,
  disturbance: (chance: Chance) => LinkArgs['disturbance'],
  longestMs = 30_000,
  settlesWithin = RECONNECTED,
): Fault<unknown> {
  return fault<LinkArgs>({
    plan: (chance, population) => ({
      target: pickTarget(chance, population),
      disturbance: disturbance(chance),
      forMs: chance.between(1000, longestMs),
    }),
    strike: (world, { target, disturbance, forMs }) => {
      const links = linksOf(world, target);
      if (links.length === 0) return false;
      // The last event of the disturbance may still be under way when it ends.
      const troubledMs = LOOK_MS + (disturbance.watchDelayMs ?? 0);
      world.during(forMs, () => {
        const ends = links.map((link) => link.disturb({ ...disturbance, kind }));
        return () => {
          for (const end of ends) end();
          for (const link of links) link.trouble(world.clock.now() + troubledMs);
        };
      });
      return undefined;
    },
    settlesWithin,
  });
}

interface CutArgs {
  readonly target: string;
  readonly forMs: number;
}

/** Blocks all traffic between one process and the API servers. Open connections stay open. */
function cut(kind: string, outcome: 'dropped' | 'lost'): Fault<unknown> {
  return fault<CutArgs>({
    plan: (chance, population) => ({
      target: pickTarget(chance, population),
      forMs: chance.between(2000, 60_000),
    }),
    strike: (world, { target, forMs }) => {
      const links = linksOf(world, target);
      if (links.length === 0) return false;
      world.during(forMs, () => {
        const connections = connectionsOf(world, target);
        const ends = links.map((link) => link.disturb({ kind, outcome, watchDelayMs: 0 }));
        for (const connection of connections) connection.holdWatches(true);
        return () => {
          for (const end of ends) end();
          for (const link of links) link.trouble(world.clock.now() + LOOK_MS);
          for (const connection of connections) connection.holdWatches(false);
        };
      });
      return undefined;
    },
    settlesWithin: LISTED,
  });
}

/** Affects the watches of one process at one moment. */
function toWatches(
  strike: (world: SimWorld, target: string) => void,
  settlesWithin: Fault<unknown>['settlesWithin'],
): Fault<unknown> {
  return fault<{ readonly target: string }>({
    plan: (chance, population) => ({ target: pickTarget(chance, population) }),
    strike: (world, { target }) => {
      strike(world, target);
      const links = linksOf(world, target);
      for (const link of links) link.trouble(world.clock.now() + settlesWithin.ms);
      return true;
    },
    settlesWithin,
  });
}

/** Faults between a process and the API servers. */
export const networkFaults = {
  requestsLost: disturbed(
    'requestsLost',
    (chance) => ({ outcome: 'dropped', share: chance.pick([0.05, 0.3, 0.7]) }),
    30_000,
    LISTED,
  ),
  answersLost: disturbed(
    'answersLost',
    (chance) => ({ outcome: 'lost', share: chance.pick([0.05, 0.3, 0.7]) }),
    30_000,
    LISTED,
  ),
  requestsDelayed: disturbed('requestsDelayed', (chance) => ({
    latencyMs: chance.pick([100, 500, 3000, 8000]),
    share: chance.pick([0.1, 1]),
  })),
  requestsLate: disturbed('requestsLate', (chance) => ({ outcome: 'late', share: chance.pick([0.1, 0.4]) })),
  requestsDuplicated: disturbed('requestsDuplicated', (chance) => ({
    outcome: 'twice',
    share: chance.pick([0.2, 1]),
  })),
  requestsReordered: disturbed('requestsReordered', () => ({ outcome: 'overtaken', share: 0.5 })),
  tooManyRequests: disturbed(
    'tooManyRequests',
    (chance) => ({ outcome: 429, share: chance.pick([0.3, 1]) }),
    20_000,
  ),
  serverErrors: disturbed('serverErrors', (chance) => ({
    outcome: chance.pick([500, 503, 504]),
    share: chance.pick([0.3, 1]),
  })),
  eventsDelayed: disturbed('eventsDelayed', (chance) => ({ watchDelayMs: chance.pick([500, 5000, 20_000]) })),
  eventsCoalesced: disturbed('eventsCoalesced', () => ({ coalesces: true, watchDelayMs: 3000 })),
  cutOff: cut('cutOff', 'dropped'),
  cutOffFromAnswers: cut('cutOffFromAnswers', 'lost'),
  watchesBroken: toWatches((world, target) => {
    for (const connection of connectionsOf(world, target)) connection.breakWatches();
  }, RECONNECTED),
  watchesSilent: toWatches((world, target) => {
    for (const connection of connectionsOf(world, target)) connection.silenceWatches();
  }, RESUMED),
  connectionsReset: toWatches((world, target) => {
    for (const connection of connectionsOf(world, target)) connection.reset();
  }, RECONNECTED),
} satisfies Record<string, Fault<unknown>>;
