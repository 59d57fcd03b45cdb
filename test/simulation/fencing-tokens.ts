import type { Term } from '../../src/participant/term.ts';

/**
 * Checks that each term of a participant has a greater fencing token than all terms before it (rule 15). The deletion
 * of a Lease resets its tokens.
 */
export class FencingTokens {
  /** The greatest token so far, by the Lease's uid. */
  readonly #greatest = new Map<string, number>();

  /** Returns the violation by a new term, if there is one. */
  begun(uid: string, { holder, lease, fencingToken }: Term): readonly string[] {
    const greatest = this.#greatest.get(uid) ?? -1;
    this.#greatest.set(uid, Math.max(greatest, fencingToken));
    if (fencingToken > greatest) return [];
    return [
      `${holder} leads ${lease.namespace}/${lease.name} under ${fencingToken}, after a term under ${greatest}`,
    ];
  }

  /** After a restore of the storage, tokens that were given since the backup are given a second time. */
  forget(): void {
    this.#greatest.clear();
  }
}
