import type { LockObserver } from '../controller/coordinator.ts';
import type { ControllerObserver } from '../controller/observers.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Decision } from '../election/decision.ts';
import { changesCluster } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Reason } from '../election/reason.ts';
import { messageOf } from '../support/text.ts';
import { isTrouble } from '../telemetry/election-result.ts';
import { describeDecision } from './decision-text.ts';
import type { Tell } from './happening.ts';

const WHO = 'coordinator';

/** Tells what the coordinator decides and does, each decision once: not what it repeats. */
export class CoordinatorReport {
  readonly observer: ControllerObserver;
  readonly lockObserver: LockObserver;
  readonly #tell: Tell;
  /** Lease that goes without being named. */
  readonly #ownLease: LeaseKey;
  readonly #reasons = new Map<LeaseKey, Reason>();

  constructor(tell: Tell, ownLease: LeaseKey) {
    this.#tell = tell;
    this.#ownLease = ownLease;
    this.observer = {
      // What is about to be written is told once it is.
      decided: (key, decision, input) => {
        if (!changesCluster(decision)) this.#decided(key, decision, input);
      },
      heldBack: () => {},
      written: () => {},
      applied: (key, decision, input) => this.#decided(key, decision, input),
      forgotten: (key) => this.#reasons.delete(key),
      synced: () => {},
      gone: (apiVersion) => this.#trouble(`the API server serves no ${apiVersion} LeaseCandidates any more`),
      twinSeen: (key, name) => this.#trouble(`two candidates for ${key} are named ${name}`),
      priorityUnreadable: (_key, name, annotation) =>
        this.#trouble(`the priority of ${name} cannot be read: ${annotation}`),
      notServed: () => this.#trouble('the API server does not serve LeaseCandidates'),
      discoveryFailed: (error) => this.#trouble('cannot ask what the API server serves', error),
      reflectorFailed: (error) => this.#trouble('cannot watch', error),
      reflectorObserver: () => () => {},
      reconcileFailed: (key, error) => this.#trouble(`cannot decide about ${key}`, error),
    };
    this.lockObserver = {
      changed: ({ kind, holder }) => {
        const by = holder === undefined ? '' : `, held by ${holder}`;
        const text =
          kind === 'active' ? 'holds its lock, and decides' : `does not have its lock: ${kind}${by}`;
        tell({ who: WHO, text, isTrouble: kind !== 'active' });
      },
      happened: () => {},
      watchFailed: (error) => this.#trouble('cannot watch its lock', error),
      refused: (reason) => this.#trouble(reason),
    };
  }

  /** The reason of the last decision about a Lease; undefined when there was none. */
  lastReason(key: LeaseKey): Reason | undefined {
    return this.#reasons.get(key);
  }

  #decided(key: LeaseKey, decision: Decision, input: ElectionInput): void {
    const { reason } = decision;
    const isNews = this.#reasons.get(key) !== reason || changesCluster(decision);
    this.#reasons.set(key, reason);
    if (!isNews) return;
    const about = key === this.#ownLease ? '' : `${key}: `;
    const text = `${about}${describeDecision(decision, input)}`;
    this.#tell({ who: WHO, reason, text, isTrouble: isTrouble(reason) });
  }

  #trouble(what: string, error?: unknown): void {
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    this.#tell({ who: WHO, text: `${what}${why}`, isTrouble: true });
  }
}
