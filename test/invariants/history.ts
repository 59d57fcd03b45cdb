/** A moment on the clock that all of one history goes by, in milliseconds, fractions included. */
export type Moment = number;

/** Who wrote: a replica of this project's coordinator, the controller built into kube-apiserver, a candidate, somebody else. */
export interface Writer {
  readonly kind: 'coordinator' | 'builtIn' | 'candidate' | 'other';
  /** Of a candidate, what it writes into holderIdentity. Unique per process. */
  readonly name: string;
}

/** A Lease, as far as an election is about it. Times are text as stored, compared with nothing but themselves. */
export interface LeaseState {
  readonly uid: string;
  readonly resourceVersion: string;
  /** '' when it has none. */
  readonly holder: string;
  readonly renewTime: string | undefined;
  readonly durationMs: number | undefined;
  readonly transitions: number;
  /** By its field or, where that is not set, by a note in an annotation (rule 14). */
  readonly preferredHolder: string | undefined;
  /** The preferredHolder that a note names, be there such a field or not. */
  readonly noted?: string | undefined;
  /** True where only a note names the preferredHolder: client-go's elector does not know. */
  readonly isNoted?: boolean;
  readonly strategy: string | undefined;
}

/** A LeaseCandidate, as far as an election is about it. */
export interface CandidateState {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly leaseName: string;
  readonly renewTime: string | undefined;
  readonly pingTime: string | undefined;
}

/** A write that was carried out; `at` is when. An object that did not exist before, or does not now, is absent. */
interface Write<Kind extends string, State> {
  readonly kind: Kind;
  readonly at: Moment;
  readonly writer: Writer;
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly before: State | undefined;
  readonly after: State | undefined;
  /** It arrived only after its sender had given it up: nothing but its resourceVersion guards it. */
  readonly isLate?: boolean;
}

/**
 * What happened, one thing after the other. The simulation and the chaos runs record the same events, and the same checks
 * look at both.
 */
export type HistoryEvent =
  | Write<'lease', LeaseState>
  | Write<'candidate', CandidateState>
  /** From `at` on `who` believes that it leads the Lease `key`, until `until` at the latest; the last such event of it counts. */
  | {
      readonly kind: 'leads';
      readonly at: Moment;
      readonly who: string;
      readonly key: string;
      readonly until: Moment;
    }
  /** `who` knows from `at` on that it does not lead the Lease `key`; so do the dead. */
  | { readonly kind: 'follows'; readonly at: Moment; readonly who: string; readonly key: string }
  /** The process `who`, which may hold the Lease `key`, has ended: told only where coordinators watch Pods (rule 17). */
  | { readonly kind: 'ends'; readonly at: Moment; readonly who: string; readonly key: string }
  /** `who` wrote, as leader of the Lease `key`, to what that Lease guards. */
  | {
      readonly kind: 'writesElsewhere';
      readonly at: Moment;
      readonly who: string;
      readonly key: string;
      readonly token: number;
    }
  /** From `at` on a coordinator takes itself for the cluster's one, until `until` at the latest. */
  | { readonly kind: 'coordinates'; readonly at: Moment; readonly who: string; readonly until: Moment }
  /** It knows from `at` on that it is not. */
  | { readonly kind: 'standsBy'; readonly at: Moment; readonly who: string }
  /** Storage was set back to a backup: what was written since then never happened, and the Leases are these. */
  | { readonly kind: 'restored'; readonly at: Moment; readonly leases: ReadonlyMap<string, LeaseState> };

/** Looks at each event of a history in turn, and says what must never happen. */
export interface Invariant {
  /** Returns what is wrong with it, in words; nothing, if all is well. */
  observe(event: HistoryEvent): readonly string[];
}
