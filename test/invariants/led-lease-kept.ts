import { FENCE } from '../../src/election/model.ts';
import type { HistoryEvent, Invariant, LeaseState, Moment } from './history.ts';

type LeaseWrite = Extract<HistoryEvent, { kind: 'lease' }>;

interface Renewal {
  readonly holder: string;
  readonly until: Moment;
}

/** A holder that a note asks to yield, and since when. The note counts regardless of the field. */
interface Told {
  readonly holder: string;
  readonly noted: string;
  readonly since: Moment;
}

/**
 * No coordinator takes a Lease from a holder that renews in time, or gives it to another candidate while a leader
 * believes in it (rule 8). Only a fence may replace such a holder (rule 14).
 */
export class LedLeaseKept implements Invariant {
  readonly #clockTolerance: number;
  readonly #electionDurationMs: number;
  /**
   * By Lease: when its renewTime last changed for the same holder. Such a change looks like a renewal, whoever wrote
   * it.
   */
  readonly #touchedAt = new Map<string, Moment>();
  /** By Lease. */
  readonly #told = new Map<string, Told>();
  /** By Lease: who last renewed it, and until when the renewal is valid. */
  readonly #renewals = new Map<string, Renewal>();
  /** The processes that have ended. A process that starts again under the same name is removed when it leads. */
  readonly #ended = new Set<string>();
  /** By Lease: who believes that it leads, and until when. */
  readonly #leaders = new Map<string, Map<string, Moment>>();

  /** @param clockTolerance the share of its duration for which a renewal counts, given the tolerated clock rates */
  constructor(clockTolerance: number, electionDurationMs: number) {
    this.#clockTolerance = clockTolerance;
    this.#electionDurationMs = electionDurationMs;
  }

  observe(event: HistoryEvent): readonly string[] {
    switch (event.kind) {
      case 'leads': {
        const leaders = this.#leaders.get(event.key) ?? new Map<string, Moment>();
        this.#leaders.set(event.key, leaders.set(event.who, event.until));
        this.#ended.delete(event.who);
        return [];
      }
      case 'follows':
        this.#leaders.get(event.key)?.delete(event.who);
        return [];
      case 'ends':
        this.#ended.add(event.who);
        this.#leaders.get(event.key)?.delete(event.who);
        if (this.#renewals.get(event.key)?.holder === event.who) this.#renewals.delete(event.key);
        return [];
      case 'restored':
        this.#renewals.clear();
        for (const key of this.#told.keys()) if (!event.leases.has(key)) this.#told.delete(key);
        for (const [key, lease] of event.leases) this.#tell(key, lease, event.at);
        // A changed renewTime looks like a renewal (rule 14).
        for (const key of this.#told.keys()) this.#touchedAt.set(key, event.at);
        return [];
      case 'lease':
        return this.#written(event);
      default:
        return [];
    }
  }

  #written(event: LeaseWrite): readonly string[] {
    const { at, writer, key, before, after } = event;
    const told = this.#told.get(key);
    // From then on, the write itself shows the state.
    this.#tell(key, after, at);
    const isTouched = before?.holder === after?.holder && before?.renewTime !== after?.renewTime;
    if (isTouched && writer.kind !== 'coordinator') this.#touchedAt.set(key, at);
    const holder = after?.holder ?? '';
    // A late request that the process sent before its end has no effect on this.
    if (writer.kind === 'candidate' && event.isLate && this.#ended.has(writer.name)) return [];
    if (writer.kind === 'candidate' && holder === writer.name) {
      this.#renewals.set(key, { holder, until: at + (after?.durationMs ?? 0) * this.#clockTolerance });
      return [];
    }
    // It has released the Lease.
    if (writer.kind === 'candidate' && before?.holder === writer.name) this.#renewals.delete(key);
    if (writer.kind !== 'coordinator' || holder === before?.holder) return [];
    const renewal = this.#renewals.get(key);
    if (holder === FENCE) {
      this.#renewals.set(key, { holder, until: at + (after?.durationMs ?? 0) * this.#clockTolerance });
      return this.#mayFence(event, told)
        ? []
        : [
            `${writer.name} fences ${before?.holder} on ${key}, which may not know that it should give way, or could be told`,
          ];
    }
    const taken =
      renewal && before && renewal.holder === before.holder && at < renewal.until
        ? [`${writer.name} takes ${key} from ${renewal.holder}, which has renewed it in time`]
        : [];
    // When it gets the Lease again, its earlier renewals no longer count.
    this.#renewals.delete(key);
    const cheated: string[] = [];
    const leaders = this.#leaders.get(key) ?? new Map<string, Moment>();
    // The violation was reported when the second leader began to lead.
    const leadsAnyway = (leaders.get(holder) ?? Number.NEGATIVE_INFINITY) > at;
    for (const [leader, until] of leaders) {
      if (until > at && leader !== holder && !leadsAnyway)
        cheated.push(`${writer.name} gives ${key} to "${holder}" while ${leader} leads`);
    }
    return [...taken, ...cheated];
  }

  /** Whether the holder has renewed since a note named another, after two electionDurations to read the note. */
  #mayFence({ at, key, before }: LeaseWrite, told: Told | undefined): boolean {
    if (!before?.isNoted || !told) return false;
    const patienceMs = 2 * this.#electionDurationMs * this.#clockTolerance;
    return at >= told.since + patienceMs && (this.#touchedAt.get(key) ?? told.since) > told.since;
  }

  /** Since when the Lease has this note. */
  #tell(key: string, lease: LeaseState | undefined, since: Moment): void {
    const told = this.#told.get(key);
    const { holder = '', noted } = lease ?? {};
    if (noted === undefined) this.#told.delete(key);
    else if (told?.holder !== holder || told.noted !== noted) this.#told.set(key, { holder, noted, since });
  }
}
