import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import type { Chance } from '../chance.ts';
import { specOf } from '../sim-api-server.ts';
import { candidateResourceOf } from '../sim-store.ts';
import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault, type Population } from './fault.ts';

const REGRANTED = {
  ms: 75_000,
  why: 'a Lease that was taken from its holder stays reserved for the rest of its duration, 60 s at the longest; then it is granted and taken up',
};
const PUBLISHED_ANEW = {
  ms: 75_000,
  why: 'who leads is chosen among those that have a LeaseCandidate; one that was deleted comes back when its program renews it, and is then to be preferred',
};

interface LeaseArgs {
  readonly lease: number;
}

const planLease = (chance: Chance, { leases }: Population): LeaseArgs => ({
  lease: chance.upTo(leases.length),
});

/** Somebody who is not its holder changes a Lease, in a way that takes it from its holder's hands; while it sleeps, perhaps. */
function theft(change: (spec: JsonObject, world: SimWorld) => JsonObject | undefined): Fault<unknown> {
  return fault<LeaseArgs & { readonly sleepsMs: number }>({
    plan: (chance, population) => ({
      ...planLease(chance, population),
      sleepsMs: chance.is(0.5) ? chance.between(5000, 25_000) : 0,
    }),
    strike: (world, { lease: index, sleepsMs }) => {
      const key = world.leaseKeys[index] ?? '';
      const lease = world.api.lease(key);
      if (!lease || !world.beginTruce(key)) return false;
      if (sleepsMs > 0) world.leaderSlot(key)?.pause(sleepsMs);
      const spec = change(specOf(lease), world);
      if (spec) world.writeAs('vandal', 'leases', lease, { ...lease, spec });
      else world.deleteAs('vandal', 'leases', lease);
      return true;
    },
    settlesWithin: REGRANTED,
  });
}

/** Somebody writes into a Lease what its holder does not care about. */
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

/** By then a coordinator has seen a better candidate, and replaced a grant that nobody has taken up yet. */
const REVISED_MS = 300;

/** Gives a candidate that runs a version that is better than the holder's; false where there is none. */
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

/** What others may do to Leases and LeaseCandidates. */
export const objectFaults = {
  leaseDeleted: theft(() => undefined),
  leaseEmptied: theft(({ preferredHolder: _, ...spec }) => ({ ...spec, holderIdentity: '' })),
  /**
   * The coordinator revises a grant, as a better candidate comes, and ends; another one, which has seen both grants, finds the
   * Lease emptied soon after. Most can go wrong where the second holder renews for a shorter time than it was granted the
   * Lease for.
   */
  leaseEmptiedAfterRevision: fault<{ readonly afterMs: number }>({
    plan: (chance) => ({ afterMs: chance.between(2000, 7000) }),
    strike: (world, { afterMs }) => {
      const { leases, settings } = world.plan;
      const quick = leases.filter(({ timing }) => timing.leaseSeconds < settings.leaseDurationSeconds);
      const wanted = quick.length > 0 ? quick : leases;
      world.afterGrant(
        wanted.map(({ namespace, name }) => `${namespace}/${name}`),
        (key, holder, coordinator) => {
          const isRunning = !world.truce.isOn && improveAnother(world, key, holder);
          if (!isRunning) return;
          const [place = ''] = coordinator.split('.');
          world.after(REVISED_MS, () => world.coordinators.stop(place, 100));
          world.after(REVISED_MS + afterMs, () => {
            const lease = world.api.lease(key);
            if (!lease || !world.beginTruce(key)) return;
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
  leaseStolen: theft((spec) => ({ ...spec, holderIdentity: 'thief', leaseDurationSeconds: 5 })),
  leaseShortened: theft((spec) => ({ ...spec, leaseDurationSeconds: 1 })),
  renewTimeRemoved: theft(({ renewTime: _, ...spec }) => spec),
  renewTimeFarOff: theft((spec, world) => ({
    ...spec,
    renewTime: formatMicroTime(world.clock.wallTime() + 250_000_000_000_000_000n),
  })),
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
  candidatePingedAhead: fault<CandidateArgs & { readonly aheadMs: number }>({
    plan: (chance, population) => ({ ...planCandidate(chance, population), aheadMs: chance.upTo(2000) }),
    strike: (world, { slot, aheadMs }) => {
      const candidate = world.candidateOf(slot);
      if (!candidate) return false;
      const pingTime = formatMicroTime(world.clock.wallTime() + BigInt(aheadMs) * 1000n);
      // One that takes a ping of the coordinator's back leaves the candidate silent until it renews, minutes later.
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
      if (keys.length === 0 || !world.beginTruce(...keys)) return false;
      for (const lease of leases) world.deleteAs('vandal', 'leases', lease);
      for (const candidate of world.store.candidates())
        if (candidate.metadata.namespace === namespace)
          world.deleteAs('vandal', candidateResourceOf(candidate), candidate);
      return true;
    },
    settlesWithin: PUBLISHED_ANEW,
  }),
} satisfies Record<string, Fault<unknown>>;
