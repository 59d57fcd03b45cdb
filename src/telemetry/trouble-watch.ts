import type { Decision } from '../election/decision.ts';
import { isStep, troubleLevel } from './reason-table.ts';

/** What a decision begins or ends; undefined where it does neither. */
export interface TroubleChange {
  /** The strategy that candidates agree on which disagreed before. */
  readonly resolvedTo: string | undefined;
  /** How loud to tell of a trouble that begins. */
  readonly began: 'info' | 'warn' | undefined;
}

const NOTHING: TroubleChange = { resolvedTo: undefined, began: undefined };

/** Finds when a trouble of a Lease begins, and when its candidates agree again: each is told once. */
export class TroubleWatch {
  /** The trouble that was last told of each Lease. */
  readonly #told = new Map<string, string>();
  /** Leases whose candidates disagree, as far as was told. */
  readonly #conflicting = new Set<string>();

  decided(key: string, { reason, outcome, conflict = '' }: Decision): TroubleChange {
    if (isStep(reason)) return NOTHING;
    let resolvedTo: string | undefined;
    if (reason === 'StrategyConflict') this.#conflicting.add(key);
    else if ('strategy' in outcome && this.#conflicting.delete(key)) resolvedTo = outcome.strategy;
    const level = troubleLevel(reason);
    const trouble = `${reason} ${conflict}`;
    const isNew = level !== undefined && this.#told.get(key) !== trouble;
    if (level === undefined) this.#told.delete(key);
    else this.#told.set(key, trouble);
    return { resolvedTo, began: isNew ? level : undefined };
  }

  /** The Lease was given to somebody: should the same trouble come again, it is another one. */
  granted(key: string): void {
    this.#told.delete(key);
  }

  forgotten(key: string): void {
    this.#told.delete(key);
    this.#conflicting.delete(key);
  }
}
