import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault } from './fault.ts';

const RESTARTED = {
  ms: 60_000,
  why: 'watches come back within 10 s of backoff; the lock expires after 15 s, and its new holder waits for 15 s; the Lease expires',
};
const REDISCOVERED = {
  ms: 75_000,
  why: 'as after a restart; the coordinator checks for the API every 10 s',
};

const FENCED = {
  ms: 105_000,
  why: 'as after a restart; a holder has 10 s to act on a note, and its fence lasts as long as its Lease',
};

interface ServerArgs {
  readonly server: number;
  readonly forMs: number;
}

const planServer =
  (longestMs: number): Fault<ServerArgs>['plan'] =>
  (chance) => ({
    server: chance.upTo(2),
    forMs: chance.between(1000, longestMs),
  });

/**
 * A coordinator that starts and finds a Lease missing that was just deleted infers its leader from the candidates.
 * While the candidates are hidden, coordinators must remember the leader.
 */
function mayHideCandidates(world: SimWorld): boolean {
  return !world.coordinators.areCandidatesHidden && world.memory.rob(world.leaseKeys);
}

/** Faults of the API servers and their storage. */
export const serverFaults = {
  /** The watches of one server stall: the two servers show different states. */
  serverStale: fault<ServerArgs>({
    plan: planServer(40_000),
    strike: (world, { server, forMs }) => {
      const api = world.servers[server];
      if (!api || api.isStale) return false;
      world.network.troubleAll(forMs);
      world.during(forMs, () => {
        api.isStale = true;
        return () => {
          api.isStale = false;
        };
      });
      return true;
    },
    settlesWithin: RESTARTED,
  }),
  serverRestarted: fault<ServerArgs>({
    plan: planServer(15_000),
    strike: (world, { server, forMs }) => {
      return world.network.restartServer(server, forMs);
    },
    settlesWithin: RESTARTED,
  }),
  /** The server cannot reach its storage, which may still apply its requests. */
  serverWithoutStorage: fault<ServerArgs & { readonly status: number }>({
    plan: (chance) => ({
      server: chance.upTo(2),
      forMs: chance.between(1000, 30_000),
      status: chance.pick([500, 504]),
    }),
    strike: (world, { server, forMs, status }) => {
      const api = world.servers[server];
      if (!api || api.fault || api.isStale) return false;
      world.network.troubleAll(forMs);
      world.during(forMs, () => {
        api.fault = () => {
          world.struck('serverWithoutStorage');
          return status;
        };
        api.isStale = true;
        return () => {
          api.fault = undefined;
          api.isStale = false;
        };
      });
      return undefined;
    },
    settlesWithin: RESTARTED,
  }),
  outage: fault<{ readonly forMs: number }>({
    plan: (chance) => ({ forMs: chance.between(1000, 40_000) }),
    strike: (world, { forMs }) => {
      const isFirst = world.network.restartServer(0, forMs);
      return world.network.restartServer(1, forMs) || isFirst;
    },
    settlesWithin: RESTARTED,
  }),
  serversSlow: fault<{ readonly factor: number; readonly forMs: number }>({
    plan: (chance) => ({ factor: 1 + chance.upTo(50), forMs: chance.between(1000, 20_000) }),
    strike: (world, { factor, forMs }) => {
      const { capacity } = world;
      if (!capacity) return undefined;
      capacity.slowDown(factor, forMs);
      world.network.troubleAll(forMs);
      return true;
    },
    settlesWithin: RESTARTED,
  }),
  historyCompacted: fault<null>({
    plan: () => null,
    strike: (world) => {
      world.store.compact();
      return true;
    },
    settlesWithin: RESTARTED,
  }),
  /** All servers are restarted one after the other, without the API for a while, and then with it again. */
  apiVersionLost: fault<{
    readonly forMs: number;
    readonly meanwhile: readonly string[];
    readonly isGateOn: boolean;
  }>({
    plan: (chance) => {
      const isGateOn = chance.is(0.3);
      return { forMs: chance.between(3000, 45_000), meanwhile: isGateOn ? ['v1alpha2'] : [], isGateOn };
    },
    strike: (world, { forMs, meanwhile, isGateOn }) => {
      if (!mayHideCandidates(world)) return false;
      world.during(forMs, () => {
        const serve = (versions: readonly string[], isOn: boolean) => {
          for (const [index, api] of world.servers.entries()) {
            api.candidateVersions = versions;
            api.isGateOn = isOn && world.plan.hasGate;
            world.network.restartServer(index, 500);
          }
        };
        serve(meanwhile, isGateOn);
        return () => serve(['v1beta1'], true);
      });
      return true;
    },
    settlesWithin: REDISCOVERED,
  }),
  /**
   * One server is restarted without the API for a long time, and then with it again. Its clients stay connected to
   * it.
   */
  apiVersionLostAtOne: fault<ServerArgs>({
    plan: (chance) => ({ server: chance.upTo(2), forMs: chance.between(30_000, 150_000) }),
    strike: (world, { server, forMs }) => {
      const api = world.servers[server];
      if (!api || world.servers.some(({ isDown }) => isDown) || !mayHideCandidates(world)) return false;
      world.during(forMs, () => {
        const serve = (versions: readonly string[]) => {
          api.candidateVersions = versions;
          api.isGateOn = versions.length > 0 && world.plan.hasGate;
          world.network.restartInPlace(server, 500);
        };
        serve([]);
        return () => serve(['v1beta1']);
      });
      return true;
    },
    settlesWithin: REDISCOVERED,
  }),
  /**
   * One server, or both one after the other, is restarted with the feature gate turned the other way, and later back
   * again.
   */
  gateTurned: fault<{ readonly servers: readonly number[]; readonly forMs: number }>({
    plan: (chance) => ({
      servers: chance.pick([[0], [1], [0, 1]]),
      forMs: chance.between(5000, 90_000),
    }),
    strike: (world, { servers, forMs }) => {
      const { hasGate } = world.plan;
      if (world.servers.some(({ isDown, isGateOn }) => isDown || isGateOn !== hasGate)) return false;
      world.during(forMs, () => {
        const turn = (isGateOn: boolean) => {
          for (const [index, api] of world.servers.entries()) {
            if (!servers.includes(index)) continue;
            api.isGateOn = isGateOn;
            world.network.restartServer(index, 500);
          }
        };
        turn(!hasGate);
        return () => turn(hasGate);
      });
      return true;
    },
    settlesWithin: FENCED,
  }),
  storageRestored: fault<{ readonly afterMs: number }>({
    // The backup is older than the last renewal of the lock. A coordinator notices the restore because of that.
    plan: (chance) => ({ afterMs: chance.between(5000, 60_000) }),
    strike: (world, { afterMs }) => {
      world.restoreLater(afterMs);
      return undefined;
    },
    settlesWithin: RESTARTED,
  }),
} satisfies Record<string, Fault<unknown>>;
