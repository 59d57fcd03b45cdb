import type { Lease } from '../election/model.ts';

/** True when the holder has renewed and done nothing else. */
export function isMereRenewal(before: Lease | undefined, after: Lease): boolean {
  return (
    before !== undefined &&
    before.uid === after.uid &&
    before.holderIdentity === after.holderIdentity &&
    before.leaseDurationSeconds === after.leaseDurationSeconds &&
    before.preferredHolder === after.preferredHolder &&
    before.isPreferredHolderOurs === after.isPreferredHolderOurs &&
    before.strategy === after.strategy
  );
}
