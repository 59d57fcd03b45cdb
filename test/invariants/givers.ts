import type { HistoryEvent, Moment, Writer } from './history.ts';

/**
 * Tracks who has granted each Lease to its present holder. The controller built into kube-apiserver remembers no
 * holders, so it may cause two leaders by itself. This project is not responsible for the effects of such a grant
 * until another coordinator has granted the Lease, and until the leaders that lost it to the built-in controller have
 * stopped: a coordinator that has started since does not know them.
 */
export class Givers {
  readonly #givers = new Map<string, Writer['kind']>();
  /** By Lease and leader: until when it believes that it leads. */
  readonly #leaders = new Map<string, Map<string, Moment>>();
  /** By Lease: until when leaders that lost it to the built-in controller believe that they lead. */
  readonly #robbedUntil = new Map<string, Moment>();

  observe(event: HistoryEvent): void {
    if (event.kind === 'restored') this.#givers.clear();
    if (event.kind === 'leads') this.#leadersOf(event.key).set(event.who, event.until);
    if (event.kind === 'follows') this.#leadersOf(event.key).delete(event.who);
    if (event.kind !== 'lease' || !event.after?.holder) return;
    const { key, at, before, after, writer } = event;
    if (after.holder === (before?.holder ?? '')) return;
    // A plain elector takes a Lease that expired under the built-in controller.
    const isPlain = writer.kind === 'candidate' && writer.name === after.holder;
    if (!isPlain || this.#givers.get(key) !== 'builtIn') this.#givers.set(key, writer.kind);
    if (writer.kind !== 'builtIn') return;
    for (const [leader, until] of this.#leadersOf(key)) {
      if (leader === after.holder || until <= at) continue;
      this.#robbedUntil.set(key, Math.max(until, this.#robbedUntil.get(key) ?? until));
    }
  }

  /**
   * Whether an event is about a Lease whose holder got it from the built-in controller, or whose leaders before that
   * grant may still lead.
   */
  isOfBuiltIn(event: HistoryEvent): boolean {
    if (!('key' in event)) return false;
    const robbedUntil = this.#robbedUntil.get(event.key) ?? Number.NEGATIVE_INFINITY;
    return this.#givers.get(event.key) === 'builtIn' || event.at < robbedUntil;
  }

  #leadersOf(key: string): Map<string, Moment> {
    const known = this.#leaders.get(key) ?? new Map<string, Moment>();
    this.#leaders.set(key, known);
    return known;
  }
}
