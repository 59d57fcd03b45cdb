/**
 * @import { LeaseEntry, Messages, Tone } from '../wire.ts'
 * @typedef {keyof typeof filters} Filter
 */

/**
 * The filters, by their names in index.html. Each function returns whether a Lease matches the filter.
 * @satisfies {Readonly<Record<string, (entry: LeaseEntry) => boolean>>}
 */
export const filters = {
  all: () => true,
  unled: ({ isUnled }) => isUnled,
  conflict: ({ reason }) => reason === 'StrategyConflict',
  changing: ({ preferredHolder }) => preferredHolder !== '',
  silent: ({ silent }) => silent > 0,
};

/** @type {ReadonlySet<Tone>} */
const URGENT = new Set(['bad', 'warn']);

/** The Leases from one connection: urgent Leases, then the others. Both groups are sorted by namespace and name. */
export class LeaseList {
  /** @type {Map<string, { entry: LeaseEntry, order: string, searched: string }>} */
  #rows = new Map();
  #isSorted = true;

  get size() {
    return this.#rows.size;
  }

  /** @param {string} key */
  get(key) {
    return this.#rows.get(key)?.entry;
  }

  /** @param {Messages['leases']} message */
  take({ changed, gone }) {
    for (const entry of changed) {
      // "/" sorts after "-". Without the replacement, kube-system/x would come before kube/x.
      const order = `${URGENT.has(entry.tone) ? 0 : 1}${entry.key.replace('/', '\0')}`;
      this.#isSorted &&= this.#rows.get(entry.key)?.order === order;
      this.#rows.set(entry.key, { entry, order, searched: searchedText(entry) });
    }
    for (const key of gone) this.#rows.delete(key);
  }

  /**
   * Finds the Leases that contain every word of `query`. `shown`: the found Leases that match `filter`. `count(name)`:
   * the number of found Leases that match the filter `name`.
   * @param {string} query
   * @param {Filter} filter
   */
  select(query, filter) {
    if (!this.#isSorted) {
      this.#rows = new Map([...this.#rows].sort(([, a], [, b]) => (a.order < b.order ? -1 : 1)));
      this.#isSorted = true;
    }
    const words = query.toLowerCase().split(/\s+/);
    const rows = [...this.#rows.values()];
    const found = rows.filter(({ searched }) => words.every((word) => searched.includes(word)));
    const entries = found.map(({ entry }) => entry);
    return {
      shown: entries.filter(filters[filter]),
      /** @param {Filter} name */
      count: (name) => entries.filter(filters[name]).length,
    };
  }
}

/** @param {LeaseEntry} entry */
function searchedText({ key, holder, preferredHolder, strategy, reason, candidates }) {
  const parts = candidates.map(
    ({ name, binary = '', emulation = '', state }) => `${name} ${binary} ${emulation} ${state}`,
  );
  return [key, holder, preferredHolder, strategy, reason, ...parts].join('\n').toLowerCase();
}
