/**
 * @typedef {import('../wire.ts').LeaseEntry} LeaseEntry
 * @typedef {import('../wire.ts').LeasesMessage} LeasesMessage
 * @typedef {{ entry: LeaseEntry, order: string, searched: string, generation: number }} Row
 * @typedef {'all' | 'unled' | 'conflict' | 'changing' | 'silent'} Filter
 * @typedef {{ shown: readonly LeaseEntry[], counts: Readonly<Record<Filter, number>> }} Selection
 */

/** States of candidates that do not answer. */
const SILENT = new Set(['Unresponsive', 'Expired']);

/**
 * For each filter, whether a Lease passes it.
 *
 * @type {Readonly<Record<Filter, (entry: LeaseEntry) => boolean>>}
 */
export const filters = {
  all: () => true,
  unled: ({ isUnled }) => isUnled === true,
  conflict: ({ reason }) => reason === 'StrategyConflict',
  changing: ({ preferredHolder }) => preferredHolder !== undefined,
  silent: (entry) => countSilent(entry) > 0,
};

/**
 * Returns the number of candidates that do not answer.
 *
 * @param {LeaseEntry} entry
 */
export function countSilent({ candidates, more = {} }) {
  let count = 0;
  for (const { state } of candidates) if (SILENT.has(state)) count++;
  for (const [state, others] of Object.entries(more)) if (SILENT.has(state)) count += others;
  return count;
}

/**
 * Returns the number of candidates, including those that the page does not show.
 *
 * @param {LeaseEntry} entry
 */
export function countCandidates({ candidates, more = {} }) {
  return Object.values(more).reduce((count, others) => count + others, candidates.length);
}

/** All Leases that the page knows: urgent ones first, then by namespace and name. */
export class LeaseList {
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** @type {readonly Row[] | undefined} */
  #sorted = [];
  #generation = 0;

  get size() {
    return this.#rows.size;
  }

  /** @param {string} key */
  get(key) {
    return this.#rows.get(key)?.entry;
  }

  /** Starts a new complete copy. The known Leases are kept until it ends. */
  beginAnew() {
    this.#generation++;
  }

  /** Ends a new complete copy: removes the Leases that it did not contain. */
  endAnew() {
    for (const [key, { generation }] of this.#rows) {
      if (generation === this.#generation) continue;
      this.#rows.delete(key);
      this.#sorted = undefined;
    }
  }

  /**
   * @param {LeasesMessage} message
   * @param {(entry: LeaseEntry) => boolean} isUrgent
   */
  take({ changed, gone }, isUrgent) {
    for (const entry of changed) {
      // A slash sorts after "-": by the whole key, kube-system/x would come before kube/x.
      const order = `${isUrgent(entry) ? 0 : 1}${entry.key.replace('/', '\0')}`;
      const row = this.#rows.get(entry.key);
      const searched = searchedText(entry);
      if (row?.order === order) {
        row.entry = entry;
        row.searched = searched;
        row.generation = this.#generation;
      } else {
        this.#rows.set(entry.key, { entry, order, searched, generation: this.#generation });
        this.#sorted = undefined;
      }
    }
    for (const key of gone) {
      if (this.#rows.delete(key)) this.#sorted = undefined;
    }
  }

  /**
   * Returns the Leases that contain every word of `query` and pass `filter`, and how many would pass each filter.
   *
   * @param {string} query
   * @param {Filter} filter
   * @returns {Selection}
   */
  select(query, filter) {
    this.#sorted ??= [...this.#rows.values()].sort((a, b) => (a.order < b.order ? -1 : 1));
    const words = wordsOf(query);
    const names = /** @type {readonly Filter[]} */ (Object.keys(filters));
    const counts = { all: 0, unled: 0, conflict: 0, changing: 0, silent: 0 };
    /** @type {LeaseEntry[]} */
    const shown = [];
    for (const { entry, searched } of this.#sorted) {
      if (!words.every((word) => searched.includes(word))) continue;
      for (const name of names) if (filters[name](entry)) counts[name]++;
      if (filters[filter](entry)) shown.push(entry);
    }
    return { shown, counts };
  }
}

/**
 * Returns the words of a query. A Lease matches if it contains all of them, in any order and case.
 *
 * @param {string} query
 */
export function wordsOf(query) {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

/** @param {LeaseEntry} entry */
function searchedText({ key, holder, preferredHolder = '', strategy, reason, candidates }) {
  const parts = candidates.map(
    ({ name, binary = '', emulation = '', state }) => `${name} ${binary} ${emulation} ${state}`,
  );
  return [key, holder, preferredHolder, strategy, reason, ...parts].join('\n').toLowerCase();
}
