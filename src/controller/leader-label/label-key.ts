import { GROUP } from '../../election/model.ts';

/** The value of every leader label. */
export const LEADER = 'leader';

const PREFIX = `${GROUP}/`;
/** What a label's key may have after its slash. A Lease's name fits but for its length, which may be four times as much. */
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/** The key of the label of a Lease's leader; undefined: no label can be called so. */
export function labelKeyOf(leaseName: string): string | undefined {
  return NAME.test(leaseName) ? `${PREFIX}${leaseName}` : undefined;
}

/** The Leases whose leader an object says to be by its labels. */
export function leasesLedBy(labels: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    value === LEADER && key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : [],
  );
}
