import {
  type CandidateObservation,
  observeCandidate,
  type PingPurpose,
  recordPing,
  recordPingDelivered,
} from '../../src/election/candidate-observation.ts';
import { type LeaseMemory, noMemory, type UnrenewedGrant } from '../../src/election/lease-memory.ts';
import {
  type ElectionSettings,
  type Instant,
  type Lease,
  type LeaseCandidate,
  type LeaseNotes,
  type MicroTime,
  NO_PRIORITY,
  type Now,
} from '../../src/election/model.ts';
import { withNotes } from '../../src/election/notes.ts';
import { observeLease } from '../../src/election/observe-lease.ts';
import type { ElectionInput, ObservedCandidate } from '../../src/election/view.ts';

export const OLDEST = 'OldestEmulationVersion';
export const NEWEST = 'coordinated-leader-election.dev/NewestVersion';

/** Wall time at instant 0 of every test: 2026-01-01T00:00:00Z. */
export const WALL_START: MicroTime = BigInt(Date.UTC(2026, 0, 1)) * 1000n;

/** The defaults of the configuration, rounded to whole seconds. */
export const defaultSettings: ElectionSettings = {
  electionDurationMs: 5000,
  leaseDurationSeconds: 10,
  candidateValidityMs: 30 * 60_000,
  candidateGcAfterMs: 2 * 60 * 60_000,
};

/** Returns the time of a correct wall clock at `at`. */
export function wallAt(at: Instant): MicroTime {
  return WALL_START + BigInt(Math.round(at * 1000));
}

/** Returns both clocks at `at`. The wall clock may be off by `wallJumpMs`. */
export function makeNow(at: Instant, wallJumpMs = 0): Now {
  return { monotonic: at, wall: wallAt(at + wallJumpMs) };
}

/** A builder of a LeaseCandidate. Each method returns a changed copy. */
export class CandidateBuilder {
  readonly #fields: LeaseCandidate;

  constructor(fields: LeaseCandidate) {
    this.#fields = fields;
  }

  with(fields: Partial<LeaseCandidate>): CandidateBuilder {
    return new CandidateBuilder({ ...this.#fields, ...fields });
  }

  versions(binaryVersion: string | undefined, emulationVersion = binaryVersion): CandidateBuilder {
    return this.with({ binaryVersion, emulationVersion });
  }

  emulating(emulationVersion: string | undefined): CandidateBuilder {
    return this.with({ emulationVersion });
  }

  /** The strategy of a v1beta1 or v1alpha2 candidate. */
  wants(strategy: string): CandidateBuilder {
    return this.with({ preference: { kind: 'strategy', strategy } });
  }

  /** The ordered list of a v1alpha1 candidate. */
  wantsInOrder(...strategies: readonly string[]): CandidateBuilder {
    return this.with({ preference: { kind: 'preferredStrategies', strategies } });
  }

  /** Its priority. If it has an end, `endsAt`, the priority is `afterwards` from then on. */
  priority(value: number, endsAt?: Instant, afterwards = 0): CandidateBuilder {
    const end = endsAt === undefined ? undefined : { at: wallAt(endsAt), afterwards };
    return this.with({ priority: { value, end, unreadable: undefined } });
  }

  createdAt(at: Instant): CandidateBuilder {
    return this.with({ creationTimestamp: wallAt(at) });
  }

  renewedAt(at: Instant): CandidateBuilder {
    return this.with({ renewTime: wallAt(at) });
  }

  neverRenewed(): CandidateBuilder {
    return this.with({ renewTime: undefined });
  }

  deleting(): CandidateBuilder {
    return this.with({ isDeleting: true });
  }

  build(): LeaseCandidate {
    return this.#fields;
  }

  /** As first seen at `at`. */
  seenAt(at: Instant, settings = defaultSettings): ObservedBuilder {
    return new ObservedBuilder(() => {
      const observation = observeCandidate(undefined, this.#fields, makeNow(at), settings);
      return { candidate: this.#fields, observation };
    }, settings);
  }
}

/** A candidate with its history as this process has seen it. `build` replays the history. */
export class ObservedBuilder {
  readonly build: () => ObservedCandidate;
  readonly #settings: ElectionSettings;

  constructor(build: () => ObservedCandidate, settings: ElectionSettings) {
    this.build = build;
    this.#settings = settings;
  }

  pingedAt(at: Instant, purpose: PingPurpose = 'election'): ObservedBuilder {
    return this.#next((observation) =>
      recordPingDelivered(recordPing(observation, purpose, at, this.#settings), at, at),
    );
  }

  /** A deletion at `at` failed. */
  notDeletedAt(at: Instant): ObservedBuilder {
    return this.#next((observation) => ({ ...observation, deletionFailedAt: at }));
  }

  /** Sees a renewal: the answer to a ping, if there was one. */
  renewedAt(at: Instant): ObservedBuilder {
    return new ObservedBuilder(() => {
      const before = this.build();
      const candidate = { ...before.candidate, renewTime: wallAt(at) };
      const observation = observeCandidate(before.observation, candidate, makeNow(at), this.#settings);
      return { candidate, observation };
    }, this.#settings);
  }

  #next(change: (observation: CandidateObservation) => CandidateObservation): ObservedBuilder {
    return new ObservedBuilder(() => {
      const { candidate, observation } = this.build();
      return { candidate, observation: change(observation) };
    }, this.#settings);
  }
}

/** A valid, electable candidate whose last renewal was a minute before instant 0. */
export function makeCandidate(name: string): CandidateBuilder {
  return new CandidateBuilder({
    source: 'native',
    namespace: 'kube-system',
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    creationTimestamp: wallAt(-60_000),
    isDeleting: false,
    leaseName: 'scheduler',
    binaryVersion: '1.36.0',
    emulationVersion: '1.36.0',
    preference: { kind: 'strategy', strategy: OLDEST },
    priority: NO_PRIORITY,
    renewTime: wallAt(-60_000),
    pingTime: undefined,
  });
}

/** A builder of a Lease. Each method returns a changed copy. */
export class LeaseBuilder {
  readonly #fields: Lease;

  constructor(fields: Lease) {
    this.#fields = fields;
  }

  with(fields: Partial<Lease>): LeaseBuilder {
    return new LeaseBuilder({ ...this.#fields, ...fields });
  }

  heldBy(holderIdentity: string | undefined): LeaseBuilder {
    return this.with({ holderIdentity });
  }

  renewedAt(at: Instant): LeaseBuilder {
    return this.with({ renewTime: wallAt(at) });
  }

  lasting(leaseDurationSeconds: number | undefined): LeaseBuilder {
    return this.with({ leaseDurationSeconds });
  }

  strategy(strategy: string | undefined): LeaseBuilder {
    return this.with({ strategy });
  }

  /** Sets preferredHolder, written by us or by another client. */
  preferring(preferredHolder: string, isPreferredHolderOurs = true): LeaseBuilder {
    return this.with({ preferredHolder, isPreferredHolderOurs });
  }

  /** Sets notes in its annotations (rule 14). */
  noting(notes: Partial<LeaseNotes>): LeaseBuilder {
    const { strategy, preferredHolder } = notes;
    return this.with(withNotes(this.#fields, { strategy, preferredHolder }));
  }

  /** As client-go's elector leaves a Lease that it releases at `at`. */
  releasedAt(at: Instant): LeaseBuilder {
    return this.heldBy('')
      .lasting(1)
      .renewedAt(at)
      .with({ isDurationHolders: true, strategy: undefined, preferredHolder: undefined });
  }

  build(): Lease {
    return this.#fields;
  }
}

/** A Lease that we granted to `holder` at instant 0, for the default 10 s. */
export function makeLease(holder: string | undefined = ''): LeaseBuilder {
  return new LeaseBuilder({
    namespace: 'kube-system',
    name: 'scheduler',
    uid: 'uid-of-scheduler',
    resourceVersion: '1',
    holderIdentity: holder,
    preferredHolder: undefined,
    isPreferredHolderOurs: false,
    strategy: OLDEST,
    leaseDurationSeconds: 10,
    leaseTransitions: 0,
    acquireTime: wallAt(0),
    renewTime: wallAt(0),
  });
}

/** A grant of ours at `at` that its holder has not renewed; by default, the grant of {@link makeLease}. */
export function makeUnrenewedGrant(holder: string, at: Instant = 0, resourceVersion = '1'): UnrenewedGrant {
  const takeUpBy = at + 5000;
  return {
    holder,
    renewTime: wallAt(at),
    resourceVersion,
    leaseDurationSeconds: 10,
    takeUpBy,
    isPreemption: false,
  };
}

/**
 * A builder of the input of a decision. Each method returns a changed copy. `build` replays the observations, so that
 * this happens in the test and not when a table of tests is loaded.
 */
export class InputBuilder {
  readonly build: () => ElectionInput;

  constructor(build: () => ElectionInput) {
    this.build = build;
  }

  with(fields: Partial<ElectionInput>): InputBuilder {
    return this.#next(() => fields);
  }

  settings(settings: Partial<ElectionSettings>): InputBuilder {
    return this.#next((input) => ({ settings: { ...input.settings, ...settings } }));
  }

  /**
   * The Lease as seen at `at`, after earlier observations; undefined: it is gone. In a list if `isListed`, by a
   * coordinator since `coordinatingSince`.
   */
  sees(
    lease: LeaseBuilder | undefined,
    at: Instant,
    isListed = false,
    coordinatingSince = Number.NEGATIVE_INFINITY,
  ): InputBuilder {
    const seen = lease?.build();
    return this.#next(({ memory, settings }) => ({
      lease: seen,
      memory: observeLease(memory, seen, makeNow(at), settings, isListed ? coordinatingSince : undefined),
    }));
  }

  remembers(memory: Partial<LeaseMemory>): InputBuilder {
    return this.#next((input) => ({ memory: { ...input.memory, ...memory } }));
  }

  candidates(...observed: readonly ObservedBuilder[]): InputBuilder {
    return this.#next((input) => ({
      candidates: [...input.candidates, ...observed.map((builder) => builder.build())],
    }));
  }

  #next(changed: (input: ElectionInput) => Partial<ElectionInput>): InputBuilder {
    return new InputBuilder(() => {
      const input = this.build();
      return { ...input, ...changed(input) };
    });
  }
}

/** No Lease, no candidates, an empty memory. */
export function makeInput(): InputBuilder {
  return new InputBuilder(() => ({
    namespace: 'kube-system',
    name: 'scheduler',
    lease: undefined,
    memory: noMemory,
    candidates: [],
    settings: defaultSettings,
  }));
}
