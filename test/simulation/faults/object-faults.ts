import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import { USUAL_DURATION_MS } from '../../../src/election/beliefs.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import type { Chance } from '../chance.ts';
import { specOf } from '../sim-api-server.ts';
import { candidateResourceOf } from '../sim-store.ts';
import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault, type Population } from './fault.ts';

const REGRANTED = {
  ms: 75_000,
  why: 'a Lease that has lost its holder stays reserved for its duration, at most 60 s; then it is granted and taken up',
};
const PUBLISHED_ANEW = {
  ms: 75_000,
  why: 'a deleted LeaseCandidate comes back when its program renews it; then it may have to be preferred',
};

interface LeaseArgs {
  readonly lease: number;
}

const planLease = (chance: Chance, { leases }: Population): LeaseArgs => ({
  lease: chance.upTo(leases.length),
});

interface TheftArgs extends LeaseArgs {
  /** How long the leader sleeps afterwards; 0: it does not sleep. */
  readonly sleepsMs: number;
  /** How long before the change the coordinators' watches stop; 0: they do not stop. */
  readonly unseenMs: number;
}

/** How long after the change the coordinators see it, in milliseconds. */
const SEEN_AFTER_MS = 500;

/** Changes a Lease. Returns false if this is not possible now. */
type Change = (world: SimWorld, key: string) => boolean;

/**
 * Another client takes a Lease from its holder. The holder may sleep at that time, or the coordinators' watches may
 * have a gap.
 */
function theft(change: Change): Fault<unknown> {
  return fault<TheftArgs>({
    plan: (chance, population) => ({
      ...planLease(chance, population),
      sleepsMs: chance.is(0.5) ? chance.between(5000, 25_000) : 0,
      unseenMs: chance.is(0.4) ? chance.between(500, 15_000) : 0,
    }),
    strike: (world, { lease: index, sleepsMs, unseenMs }) => {
      const key = world.leaseKeys[index] ?? '';
      const strike = () => {
        const leader = world.leaderSlot(key);
        if (!change(world, key)) return false;
        if (sleepsMs > 0) leader?.pause(sleepsMs);
        return true;
      };
      if (unseenMs === 0) return strike();
      if (!world.api.lease(key)) return false;
      world.coordinators.holdWatches(unseenMs + SEEN_AFTER_MS);
      world.strikeAfter(unseenMs, strike);
      return undefined;
    },
    settlesWithin: REGRANTED,
  });
}

function overwriting(change: (spec: JsonObject, world: SimWorld) => JsonObject): Change {
  return (world, key) => {
    const lease = world.api.lease(key);
    if (!lease || !world.mayRob(key)) return false;
    world.writeAs('vandal', 'leases', lease, { ...lease, spec: change(specOf(lease), world) });
    return true;
  };
}

/** Deletes a Lease. Returns false if this is not possible now. */
export function deleteLease(world: SimWorld, key: string): boolean {
  const lease = world.api.lease(key);
  if (!lease || !world.mayDelete(key)) return false;
  world.deleteAs('vandal', 'leases', lease);
  return true;
}

/** Another client writes fields of a Lease that its holder ignores. */
function tampering(
  plan: (chance: Chance) => JsonObject,
  settlesWithin: Fault<unknown>['settlesWithin'] = REGRANTED,
): Fault<unknown> {
  return fault<LeaseArgs & { readonly fields: JsonObject }>({
    plan: (chance, population) => ({ ...planLease(chance, population), fields: plan(chance) }),
    strike: (world, { lease: index, fields }) => {
      const lease = world.api.lease(world.leaseKeys[index] ?? '');
      if (!lease) return false;
      const spec = JSON.parse(JSON.stringify({ ...specOf(lease), ...fields }));
      world.writeAs('vandal', 'leases', lease, { ...lease, spec });
      return true;
    },
    settlesWithin,
  });
}

/** How long the former leader stays away, in milliseconds. */
const AWAY_MS = 60_000;
/** How long after the deletion the coordinators start, in milliseconds. */
const STARTED_AFTER_MS = 200;

/**
 * By then, a coordinator has seen the better candidate, and has replaced a grant that its holder has not renewed yet.
 */
const REVISED_MS = 300;

/** Gives a running candidate a better version than the holder's. Returns false if there is no such candidate. */
function improveAnother(world: SimWorld, key: string, holder: string): boolean {
  const slot = world.slots.find(
    ({ key: its, candidate }) => its === key && candidate && candidate.identity.name !== holder,
  );
  const candidate = slot && world.candidateOf(slot.plan.name);
  if (!candidate) return false;
  const spec = { ...specOf(candidate), emulationVersion: '1.30.0' };
  world.writeAs('vandal', candidateResourceOf(candidate), candidate, { ...candidate, spec });
  return true;
}

interface CandidateArgs {
  readonly slot: string;
}

const planCandidate = (chance: Chance, { slots }: Population): CandidateArgs => ({
  slot: chance.pick(slots)?.name ?? '',
});

/** Changes of Leases and LeaseCandidates by other clients. */
export const objectFaults = {
  leaseDeleted: theft(deleteLease),
  /** The deletion happens while no coordinator runs. Coordinators that start later have never seen the Lease. */
  leaseDeletedBeforeStart: fault<LeaseArgs & { readonly afterMs: number }>({
    plan: (chance, population) => ({ ...planLease(chance, population), afterMs: chance.between(500, 4000) }),
    strike: (world, { lease, afterMs }) => {
      const { coordinators, memory, plan } = world;
      if (memory.isNeeded) return false;
      for (const { name } of plan.replicas) coordinators.stop(name, afterMs + STARTED_AFTER_MS);
      world.strikeAfter(afterMs, () => {
        if (!deleteLease(world, world.leaseKeys[lease] ?? '')) return;
        world.struck('leaseDeletedBeforeStart');
      });
      return undefined;
    },
    settlesWithin: REGRANTED,
  }),
  /**
   * The coordinator creates a Lease, and its connection breaks before the answer arrives. Then the new leader's Lease
   * is deleted while no watch reports it. A coordinator reserves longer Leases only for 15 s (rule 8).
   */
  leaseDeletedAfterLostGrant: fault<LeaseArgs & { readonly afterMs: number }>({
    plan: (chance, population) => ({ ...planLease(chance, population), afterMs: chance.between(2000, 8000) }),
    strike: (world, { lease: index, afterMs }) => {
      const { coordinators, plan } = world;
      const key = world.leaseKeys[index] ?? '';
      const leader = world.leaderSlot(key);
      const isShort = (plan.leases[index]?.timing.leaseSeconds ?? 0) * 1000 <= USUAL_DURATION_MS;
      if (!leader || !isShort || !deleteLease(world, key)) return false;
      leader.crash(AWAY_MS);
      world.afterGrant('coordinator', [key], () => {
        coordinators.holdWatches(afterMs + SEEN_AFTER_MS);
        coordinators.resetConnections();
        world.strikeAfter(afterMs, () => {
          if (!deleteLease(world, key)) return;
          world.struck('leaseDeletedAfterLostGrant');
          for (const api of world.servers) api.forgetHistory();
          coordinators.resetConnections();
        });
      });
      return undefined;
    },
    settlesWithin: REGRANTED,
  }),
  leaseEmptied: theft(overwriting(({ preferredHolder: _, ...spec }) => ({ ...spec, holderIdentity: '' }))),
  /**
   * The coordinator revises a grant because of a better candidate, and stops. Another coordinator, which has seen
   * both grants, finds the Lease emptied soon after. The risk is highest if the second holder's lease duration is
   * shorter than its grant.
   */
  leaseEmptiedAfterRevision: fault<{ readonly afterMs: number }>({
    plan: (chance) => ({ afterMs: chance.between(2000, 7000) }),
    strike: (world, { afterMs }) => {
      const { leases, settings } = world.plan;
      const quick = leases.filter(({ timing }) => timing.leaseSeconds < settings.leaseDurationSeconds);
      const wanted = quick.length > 0 ? quick : leases;
      world.afterGrant(
        'coordinator',
        wanted.map(({ namespace, name }) => `${namespace}/${name}`),
        ({ key, holder, writer }) => {
          const isRunning = !world.memory.isNeeded && improveAnother(world, key, holder);
          if (!isRunning) return;
          const [place = ''] = writer.name.split('.');
          world.strikeAfter(REVISED_MS, () => world.coordinators.stop(place, 100));
          world.strikeAfter(REVISED_MS + afterMs, () => {
            const lease = world.api.lease(key);
            if (!lease || !world.mayRob(key)) return;
            const { preferredHolder: _, ...spec } = specOf(lease);
            world.writeAs('vandal', 'leases', lease, { ...lease, spec: { ...spec, holderIdentity: '' } });
            world.struck('leaseEmptiedAfterRevision');
          });
        },
      );
      return undefined;
    },
    settlesWithin: REGRANTED,
  }),
  leaseStolen: theft(overwriting((spec) => ({ ...spec, holderIdentity: 'thief', leaseDurationSeconds: 5 }))),
  leaseShortened: theft(overwriting((spec) => ({ ...spec, leaseDurationSeconds: 1 }))),
  renewTimeRemoved: theft(overwriting(({ renewTime: _, ...spec }) => spec)),
  renewTimeFarOff: theft(
    overwriting((spec, world) => ({
      ...spec,
      renewTime: formatMicroTime(world.clock.wallTime() + 250_000_000_000_000_000n),
    })),
  ),
  strategyChanged: tampering((chance) => ({
    strategy: chance.pick(['example.com/custom', 'OldestEmulationVersion']),
  })),
  strangerPreferred: tampering((chance) => ({
    strategy: 'OldestEmulationVersion',
    preferredHolder: chance.pick(['nobody', 'scheduler-0', 'operator-1']),
  })),
  transitionsChanged: fault<LeaseArgs>({
    plan: planLease,
    strike: (world, { lease: index }) => {
      const lease = world.api.lease(world.leaseKeys[index] ?? '');
      if (!lease) return false;
      const spec = specOf(lease);
      const leaseTransitions = Number(spec['leaseTransitions'] ?? 0) + 10;
      world.writeAs('vandal', 'leases', lease, { ...lease, spec: { ...spec, leaseTransitions } });
      return true;
    },
    settlesWithin: REGRANTED,
  }),
  candidateDeleted: fault<CandidateArgs>({
    plan: planCandidate,
    strike: (world, { slot }) => {
      const candidate = world.candidateOf(slot);
      if (!candidate) return false;
      world.deleteAs('vandal', candidateResourceOf(candidate), candidate);
      return true;
    },
    settlesWithin: PUBLISHED_ANEW,
  }),
  candidateRecreated: fault<CandidateArgs>({
    plan: planCandidate,
    strike: (world, { slot }) => {
      const candidate = world.candidateOf(slot);
      if (!candidate) return false;
      const { metadata, ...rest } = candidate;
      world.deleteAs('vandal', candidateResourceOf(candidate), candidate);
      const { name, namespace } = metadata;
      world.store.create(candidateResourceOf(candidate), {
        ...rest,
        metadata: { name, ...(namespace !== undefined && { namespace }) },
      });
      return true;
    },
    settlesWithin: PUBLISHED_ANEW,
  }),
  /** A program comes back as a candidate of the other group, and leaves its old candidate behind (rule 13). */
  candidateChangesGroup: fault<CandidateArgs & { readonly ms: number }>({
    plan: (chance, population) => ({ ...planCandidate(chance, population), ms: chance.between(200, 8000) }),
    strike: (world, { slot, ms }) =>
      world.plan.hasCustomCandidates && (world.slot(slot)?.changeGroup(ms) ?? false),
    settlesWithin: PUBLISHED_ANEW,
  }),
  candidatePingedAhead: fault<CandidateArgs & { readonly aheadMs: number }>({
    plan: (chance, population) => ({ ...planCandidate(chance, population), aheadMs: chance.upTo(2000) }),
    strike: (world, { slot, aheadMs }) => {
      const candidate = world.candidateOf(slot);
      if (!candidate) return false;
      const pingTime = formatMicroTime(world.clock.wallTime() + BigInt(aheadMs) * 1000n);
      // If a client reverts the coordinator's ping, the candidate stays silent until its renewal, minutes later.
      if (pingTime <= String(specOf(candidate)['pingTime'] ?? '')) return false;
      world.writeAs('vandal', candidateResourceOf(candidate), candidate, {
        ...candidate,
        spec: { ...specOf(candidate), pingTime },
      });
      return true;
    },
    settlesWithin: PUBLISHED_ANEW,
  }),
  namespaceDeleted: fault<{ readonly namespace: string }>({
    plan: (chance, { leases }) => ({ namespace: chance.pick(leases)?.namespace ?? 'default' }),
    strike: (world, { namespace }) => {
      const leases = world.store.list('leases').filter((lease) => lease.metadata.namespace === namespace);
      const keys = leases.map(({ metadata }) => `${namespace}/${metadata.name}`);
      if (keys.length === 0 || !world.mayRob(...keys)) return false;
      for (const lease of leases) world.deleteAs('vandal', 'leases', lease);
      for (const candidate of world.store.candidates())
        if (candidate.metadata.namespace === namespace)
          world.deleteAs('vandal', candidateResourceOf(candidate), candidate);
      return true;
    },
    settlesWithin: PUBLISHED_ANEW,
  }),
} satisfies Record<string, Fault<unknown>>;
