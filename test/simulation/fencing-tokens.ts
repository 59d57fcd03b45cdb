import type { Term } from '../../src/participant/term.ts';

/**
 * Sees to it that each term of a participant has a greater number than all before it (rule 15). Who deletes a Lease takes its
 * numbers along.
 */
export class FencingTokens {
  /** By uid of a Lease: the greatest so far. */
  readonly #greatest = new Map<string, number>();

  /** What is wrong with a term that begins. */
  begun(uid: string, { holder, lease, fencingToken }: Term): readonly string[] {
    const greatest = this.#greatest.get(uid) ?? -1;
    this.#greatest.set(uid, Math.max(greatest, fencingToken));
    if (fencingToken > greatest) return [];
    return [
      `${holder} leads ${lease.namespace}/${lease.name} under ${fencingToken}, after a term under ${greatest}`,
    ];
  }

  /** Storage was set back: the numbers since then are given out a second time. */
  forget(): void {
    this.#greatest.clear();
  }
}
