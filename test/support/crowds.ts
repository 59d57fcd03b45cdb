import type { Now, StrategyPreference } from '../../src/election/model.ts';
import type { ElectionInput, ObservedCandidate } from '../../src/election/view.ts';
import {
  type CandidateBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  type ObservedBuilder,
  OLDEST,
} from './election-builders.ts';

/** A Lease with a crowd of candidates, and the time of its decision. */
interface Crowd {
  /** The properties of its candidates, by `index`. */
  readonly member: (candidate: CandidateBuilder, index: number) => ObservedBuilder;
  /** The holder, if there is one; without a holder there is no Lease. */
  readonly holder?: string;
  readonly memory?: Partial<ElectionInput['memory']>;
  readonly now: Now;
}

const soon = makeNow(1000);
const version = (index: number) => `1.${36 + (index % 7)}.${index}`;
const list = (index: number): StrategyPreference => ({
  kind: 'preferredStrategies',
  strategies: index % 2 === 0 ? [OLDEST, `example.com/${index}`] : [`example.com/${index}`, OLDEST],
});

/** One crowd for each code path of decisions with different costs. */
export const crowds: Readonly<Record<string, Crowd>> = {
  'led, and idle': { member: (candidate) => candidate.seenAt(0), holder: 'holder', now: soon },
  'led, and just started': {
    member: (candidate) => candidate.renewedAt(0).seenAt(0),
    holder: 'holder',
    now: soon,
  },
  'led, and better': {
    member: (candidate) => candidate.emulating('1.35.0').seenAt(0),
    holder: 'holder',
    now: soon,
  },
  'led, and better each by another version': {
    member: (candidate, index) => candidate.versions('1.99.0', `1.${index % 36}.${index}`).seenAt(0),
    holder: 'holder',
    now: soon,
  },
  'led, and better each by another priority': {
    member: (candidate, index) => candidate.priority(index + 1).seenAt(0),
    holder: 'holder',
    now: soon,
  },
  'led by one that is late': {
    member: (candidate) => candidate.renewedAt(0).seenAt(0),
    holder: 'holder',
    now: makeNow(9000),
  },
  idle: { member: (candidate) => candidate.seenAt(0), now: soon },
  'just started': { member: (candidate) => candidate.renewedAt(0).seenAt(0), now: soon },
  asked: { member: (candidate) => candidate.seenAt(0).pingedAt(500), now: soon },
  silent: { member: (candidate) => candidate.seenAt(0).pingedAt(0), now: makeNow(60_000) },
  answering: { member: (candidate) => candidate.seenAt(0).pingedAt(500).renewedAt(600), now: soon },
  'of as many versions': {
    member: (candidate, index) => candidate.versions(version(index)).renewedAt(0).seenAt(0),
    now: soon,
  },
  'idle, of as many versions': {
    member: (candidate, index) => candidate.versions(version(index)).seenAt(0),
    now: soon,
  },
  'of as many priorities': {
    member: (candidate, index) => candidate.priority(index).renewedAt(0).seenAt(0),
    now: soon,
  },
  'idle, of as many priorities that end': {
    member: (candidate, index) => candidate.priority(index, 60_000 + index).seenAt(0),
    now: soon,
  },
  'in conflict': {
    member: (candidate, index) => candidate.wants(`S${index}`).renewedAt(0).seenAt(0),
    now: soon,
  },
  'idle, in conflict': {
    member: (candidate, index) => candidate.wants(`S${index}`).seenAt(0),
    now: soon,
  },
  'in conflict, and half of them idle': {
    member: (candidate, index) =>
      (index % 2 === 0 ? candidate : candidate.renewedAt(0)).wants(`S${index}`).seenAt(0),
    now: soon,
  },
  'asked for a minute, from the worst to the best': {
    member: (candidate, index) => candidate.renewedAt(-600_000 + index).seenAt(0),
    memory: { askingSince: -60_000 },
    now: soon,
  },
  'of as many lists that agree, and half of them idle': {
    member: (candidate, index) =>
      (index % 2 === 0 ? candidate : candidate.renewedAt(0))
        .wantsInOrder(OLDEST, `example.com/${index}`)
        .seenAt(0),
    now: soon,
  },
  'in conflict by lists': {
    member: (candidate, index) =>
      candidate
        .with({ preference: list(index) })
        .renewedAt(0)
        .seenAt(0),
    now: soon,
  },
  'idle, in conflict by lists': {
    member: (candidate, index) => candidate.with({ preference: list(index) }).seenAt(0),
    now: soon,
  },
  'to be refreshed': { member: (candidate) => candidate.seenAt(0), now: makeNow(10 * 60_000) },
  'to be collected': { member: (candidate) => candidate.seenAt(0), now: makeNow(3 * 60 * 60_000) },
  'without versions': { member: (candidate) => candidate.versions(undefined).seenAt(0), now: soon },
};

/** Returns the Lease of a crowd with this many candidates in addition to its holder. */
export function makeCrowd({ member, holder, memory }: Crowd, count: number): ElectionInput {
  const base = makeInput().sees(holder === undefined ? undefined : makeLease(holder), 0);
  const input = base.remembers(memory ?? {}).build();
  const candidates: ObservedCandidate[] = [];
  if (holder !== undefined) candidates.push(makeCandidate(holder).seenAt(0).build());
  for (let index = 0; index < count; index++) {
    candidates.push(member(makeCandidate(`candidate-${index}`), index).build());
  }
  return { ...input, candidates };
}
