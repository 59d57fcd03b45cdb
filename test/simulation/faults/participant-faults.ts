import type { Chance } from '../chance.ts';
import { SimParticipant } from '../sim-participant.ts';
import type { SimWorld } from '../sim-world.ts';
import { type Fault, fault, type Population } from './fault.ts';

interface ParticipantArgs {
  readonly slot: string;
}

const REPLACED = {
  ms: 75_000,
  why: 'the leader stops first, or its Lease expires, after at most 60 s; then the Lease is granted and taken up',
};

const planParticipant = (chance: Chance, { slots }: Population): ParticipantArgs => ({
  slot: chance.pick(slots.filter(({ isParticipant }) => isParticipant))?.name ?? '',
});

function participantIn(world: SimWorld, name: string) {
  const { candidate } = world.slot(name) ?? {};
  return candidate instanceof SimParticipant ? candidate.participant : undefined;
}

/** Actions of a program with its participant. */
export const participantFaults = {
  participantResigns: fault<ParticipantArgs>({
    plan: planParticipant,
    strike: (world, { slot }) => {
      const participant = participantIn(world, slot);
      if (participant?.state.role !== 'leading') return false;
      void participant.resign();
      return true;
    },
    settlesWithin: REPLACED,
  }),
  participantWithdraws: fault<ParticipantArgs & { readonly forMs: number }>({
    plan: (chance, population) => ({
      ...planParticipant(chance, population),
      forMs: chance.between(100, 40_000),
    }),
    strike: (world, { slot, forMs }) => {
      const participant = participantIn(world, slot);
      if (!participant?.state.isStanding) return false;
      world.during(forMs, () => {
        void participant.withdraw();
        return () => participant.stand();
      });
      return true;
    },
    settlesWithin: REPLACED,
  }),
} satisfies Record<string, Fault<unknown>>;
