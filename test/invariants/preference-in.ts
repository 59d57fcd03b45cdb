import { NOTES } from '../../src/coordination/lease.ts';
import { annotationsOf, specOf, textField } from '../../src/coordination/raw-object.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { LeaseState } from './history.ts';

/** Returns the preferredHolder and strategy of a stored Lease, from its fields or its notes (rule 14). */
export function preferenceIn(
  lease: KubernetesObject,
): Pick<LeaseState, 'preferredHolder' | 'strategy' | 'noted' | 'isNoted'> {
  const [spec, notes] = [specOf(lease), annotationsOf(lease)];
  const preferredHolder = textField(spec, 'preferredHolder') || undefined;
  const noted = textField(notes, NOTES.preferredHolder) || undefined;
  return {
    preferredHolder: preferredHolder ?? noted,
    strategy: textField(spec, 'strategy') ?? (textField(notes, NOTES.strategy) || undefined),
    noted,
    isNoted: preferredHolder === undefined && noted !== undefined,
  };
}
