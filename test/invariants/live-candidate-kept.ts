import type { HistoryEvent, Invariant, Moment } from './history.ts';

/** No coordinator deletes a candidate that has renewed within its validity (rule 1). */
export class LiveCandidateKept implements Invariant {
  readonly #candidateValidityMs: number;
  /** By uid: when the candidate last wrote itself. */
  readonly #renewedAt = new Map<string, Moment>();

  constructor(candidateValidityMs: number) {
    this.#candidateValidityMs = candidateValidityMs;
  }

  observe(event: HistoryEvent): readonly string[] {
    if (event.kind !== 'candidate') return [];
    const { at, writer, key, before, after } = event;
    if (writer.kind === 'candidate' && after) this.#renewedAt.set(after.uid, at);
    if (writer.kind !== 'coordinator' || after || !before) return [];
    const silentForMs = at - (this.#renewedAt.get(before.uid) ?? Number.NEGATIVE_INFINITY);
    if (silentForMs >= this.#candidateValidityMs) return [];
    return [`${writer.name} deletes ${key}, which has renewed ${Math.round(silentForMs)} ms ago`];
  }
}
