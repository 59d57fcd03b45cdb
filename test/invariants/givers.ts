import type { HistoryEvent, Writer } from './history.ts';

/**
 * Who has given each Lease to its present holder. The controller built into kube-apiserver remembers nobody, and so may make two
 * leaders by itself: what comes of its grants is not this project's doing, until somebody else has given the Lease away.
 */
export class Givers {
  readonly #givers = new Map<string, Writer['kind']>();

  observe(event: HistoryEvent): void {
    if (event.kind === 'restored') this.#givers.clear();
    if (event.kind !== 'lease' || !event.after?.holder) return;
    if (event.after.holder !== (event.before?.holder ?? '')) this.#givers.set(event.key, event.writer.kind);
  }

  /** Whether an event is about a Lease whose holder has it from the built-in. */
  isOfBuiltIn(event: HistoryEvent): boolean {
    return 'key' in event && this.#givers.get(event.key) === 'builtIn';
  }
}
