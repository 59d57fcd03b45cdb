import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { Chance } from './chance.ts';
import type { SimFate } from './sim-connection.ts';

/** A disturbance between one process and the API servers. Shares are of all requests, from 0 to 1. */
export interface Disturbance {
  /** The name under which its strikes are counted. */
  readonly kind: string;
  readonly share?: number;
  /**
   * The fate of affected requests: `dropped` and `lost` as in {@link SimFate}; `late`: executed long after it was
   * given up; `twice`: executed twice; `overtaken`: held while later requests pass; a number: answered with this
   * status.
   */
  readonly outcome?: 'dropped' | 'lost' | 'late' | 'twice' | 'overtaken' | number;
  /** Maximum latency of a request or its answer, in milliseconds. */
  readonly latencyMs?: number;
  /** Maximum latency of a watch event, in milliseconds. */
  readonly watchDelayMs?: number;
  /** An event replaces an earlier event in flight for the same object. */
  readonly coalesces?: boolean;
}

/** Latencies without a disturbance, in milliseconds. */
const CALM = { latencyMs: 20, watchDelayMs: 10 };
const DEFAULT_DEADLINE_MS = 10_000;

/** The network path between one process and the API servers. */
export class SimLink {
  readonly #chance: Chance;
  readonly #onStrike: (kind: string) => void;
  readonly #disturbances = new Set<Disturbance>();
  #calm = CALM;
  #troubledUntil: Instant = Number.NEGATIVE_INFINITY;

  constructor(chance: Chance, onStrike: (kind: string) => void) {
    this.#chance = chance;
    this.#onStrike = onStrike;
  }

  get isDisturbed(): boolean {
    return this.#disturbances.size > 0;
  }

  /** Until when a past disturbance may still affect its process. */
  get troubledUntil(): Instant {
    return this.#troubledUntil;
  }

  trouble(until: Instant): void {
    this.#troubledUntil = Math.max(this.#troubledUntil, until);
  }

  /** Whether events may be late or lost. */
  get isWatchDisturbed(): boolean {
    for (const { watchDelayMs, coalesces } of this.#disturbances)
      if (watchDelayMs !== undefined || coalesces) return true;
    return false;
  }

  /**
   * Sets the latencies without a disturbance: up to `latencyMs` for a request or an answer, and `watchDelayMs` for an
   * event.
   */
  set calm(calm: { readonly latencyMs: number; readonly watchDelayMs: number }) {
    this.#calm = calm;
  }

  /** Begins a disturbance. The returned function ends it. */
  disturb(disturbance: Disturbance): () => void {
    this.#disturbances.add(disturbance);
    return () => this.#disturbances.delete(disturbance);
  }

  fate(request: ApiRequest): SimFate {
    let fate: SimFate = {
      requestMs: 1 + this.#chance.upTo(this.#calm.latencyMs),
      answerMs: 1 + this.#chance.upTo(this.#calm.latencyMs),
    };
    for (const disturbance of this.#disturbances) {
      const { kind, share = 1, latencyMs, outcome } = disturbance;
      if ((latencyMs === undefined && outcome === undefined) || !this.#chance.is(share)) continue;
      if (request.query?.['watch'] && (outcome === 'twice' || outcome === 'late')) continue;
      this.#onStrike(kind);
      if (latencyMs !== undefined) {
        fate = {
          ...fate,
          requestMs: 1 + this.#chance.upTo(latencyMs),
          answerMs: 1 + this.#chance.upTo(latencyMs),
        };
      }
      if (outcome !== undefined) fate = { ...fate, ...this.#fateOf(outcome, request) };
    }
    return fate;
  }

  watchDelayMs(): number {
    let longestMs = this.#calm.watchDelayMs;
    for (const { kind, watchDelayMs } of this.#disturbances) {
      if (watchDelayMs === undefined) continue;
      longestMs = Math.max(longestMs, watchDelayMs);
      this.#onStrike(kind);
    }
    return this.#chance.upTo(longestMs);
  }

  coalesces(): boolean {
    for (const { coalesces } of this.#disturbances) if (coalesces) return true;
    return false;
  }

  #fateOf(
    outcome: NonNullable<Disturbance['outcome']>,
    { deadlineMs = DEFAULT_DEADLINE_MS }: ApiRequest,
  ): SimFate {
    switch (outcome) {
      case 'late':
        return { requestMs: deadlineMs + this.#chance.upTo(30_000), arrivesLate: true };
      case 'twice':
        return { againMs: 1 + this.#chance.upTo(2000) };
      case 'overtaken':
        return { requestMs: 200 + this.#chance.upTo(3000) };
      default:
        return { outcome };
    }
  }
}
