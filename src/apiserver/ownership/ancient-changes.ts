import { union } from './field-set.ts';
import { compareText, type Manager, type Managers, managerId, secondsOf } from './managers.ts';

/** How many managers that update are remembered by their names. */
const MOST_UPDATERS = 10;

/** Lets the oldest of too many managers that update become one, for each version that they used. */
export function mergeAncient(managers: Managers): Managers {
  const result = new Map(managers);
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  updaters.sort(
    ([id, one], [otherId, other]) => secondsOf(one) - secondsOf(other) || compareText(id, otherId),
  );
  /** The first of each version, which is merged once there is a second. */
  const firsts = new Map<string, string>();
  let left = updaters.length;
  for (const [id, updater] of updaters) {
    if (left <= MOST_UPDATERS) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, id);
    } else {
      mergeInto(result, first, id, updater);
      left -= 1;
    }
  }
  return result;
}

function mergeInto(managers: Map<string, Manager>, first: string, id: string, updater: Manager): void {
  const { apiVersion, operation, time } = updater;
  const ancient = { manager: 'ancient-changes', operation, apiVersion, subresource: '' };
  const ancientId = managerId(ancient);
  const merged = managers.get(ancientId) ?? managers.get(first);
  if (merged === undefined) return;
  if (!managers.has(ancientId)) managers.delete(first);
  const fields = union(updater.fields, merged.fields);
  managers.set(ancientId, { ...ancient, ...(time !== undefined && { time }), fields });
  managers.delete(id);
}
