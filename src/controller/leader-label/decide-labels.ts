import type { Instant, PodReference } from '../../election/model.ts';
import { type ElectionInput, surveyTenure } from '../../election/view.ts';

/** Who leads by a Lease, as far as it has shown. */
export interface Leadership {
  readonly holder: string;
  /** The Pod of the holder's candidate; undefined: it has none, or is out of sight. */
  readonly pod: PodReference | undefined;
  readonly until: Instant;
}

/** What this process knows of the labels for one Lease. */
export interface KnownLabels {
  /** The Pods that have one. */
  readonly carriers: readonly PodReference[];
  /** Those that may have one: nobody knows what became of the write. */
  readonly doubtful: readonly PodReference[];
  /** For whose sake the last one was put there; undefined: it was found. */
  readonly holder: string | undefined;
}

/** One label to be written. */
export interface LabelWrite {
  readonly kind: 'add' | 'remove';
  readonly pod: PodReference;
}

/** Nobody has taken the Lease up, or has it any more: undefined. */
export function leadershipOf(input: ElectionInput, at: Instant): Leadership | undefined {
  const tenure = surveyTenure(input, at);
  if (tenure.kind !== 'held' || tenure.isProvisional) return undefined;
  const { acquireTime, renewTime } = tenure.lease;
  // As whoever granted it has left it; a grant of our own is provisional besides, but not after a restart.
  if (acquireTime !== undefined && acquireTime === renewTime) return undefined;
  const candidate = input.candidates.find(({ candidate: { name } }) => name === tenure.holder);
  return { holder: tenure.holder, pod: candidate?.candidate.pod, until: tenure.expiresAt };
}

/** The writes that leave the label with the leader's Pod alone, in this order: nobody gets it before others have lost it. */
export function decideLabels(known: KnownLabels, leadership: Leadership | undefined): readonly LabelWrite[] {
  const isOutOfSight = leadership?.pod === undefined && leadership?.holder === known.holder;
  if (leadership !== undefined && isOutOfSight) return [];
  const pod = leadership?.pod;
  const others = [...known.carriers, ...known.doubtful].filter(({ uid }) => uid !== pod?.uid);
  const removals = others.map((other): LabelWrite => ({ kind: 'remove', pod: other }));
  const isThere = pod === undefined || known.carriers.some(({ uid }) => uid === pod.uid);
  return isThere ? removals : [...removals, { kind: 'add', pod }];
}
