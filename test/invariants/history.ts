/** A time on the shared clock of one history, in milliseconds with fractions. */
export type Moment = number;

/**
 * The kind of writer: a replica of this project's coordinator, the controller built into kube-apiserver, a candidate,
 * or another client.
 */
export interface Writer {
  readonly kind: 'coordinator' | 'builtIn' | 'candidate' | 'other';
  /** For a candidate: its name in holderIdentity. Unique per process. */
  readonly name: string;
}

/** The fields of a Lease that matter for elections. Times are the stored text, which is only compared for equality. */
export interface LeaseState {
  readonly uid: string;
  readonly resourceVersion: string;
  /** '' if it has none. */
  readonly holder: string;
  readonly renewTime: string | undefined;
  readonly durationMs: number | undefined;
  readonly transitions: number;
  /** From the field, or else from a note in an annotation (rule 14). */
  readonly preferredHolder: string | undefined;
  /** The preferredHolder in a note, whether or not the field is set. */
  readonly noted?: string | undefined;
  /** True if only a note names the preferredHolder, which client-go's elector does not read. */
  readonly isNoted?: boolean;
  readonly strategy: string | undefined;
}

/** The fields of a LeaseCandidate that matter for elections. */
export interface CandidateState {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly leaseName: string;
  readonly renewTime: string | undefined;
  readonly pingTime: string | undefined;
}

/**
 * A write that the server applied at `at`. An object that did not exist before the write, or does not exist after it,
 * is absent.
 */
interface Write<Kind extends string, State> {
  readonly kind: Kind;
  readonly at: Moment;
  readonly writer: Writer;
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly before: State | undefined;
  readonly after: State | undefined;
  /** It arrived after its sender had given it up: only its resourceVersion protects against it. */
  readonly isLate?: boolean;
}

/** An event of a history. The simulation and the chaos runs record the same events and use the same checks. */
export type HistoryEvent =
  | Write<'lease', LeaseState>
  | Write<'candidate', CandidateState>
  /**
   * From `at` on, `who` believes that it leads the Lease `key`, until `until` at the latest. The last such event of
   * `who` counts.
   */
  | {
      readonly kind: 'leads';
      readonly at: Moment;
      readonly who: string;
      readonly key: string;
      readonly until: Moment;
    }
  /** From `at` on, `who` knows that it does not lead the Lease `key`. A dead process counts as well. */
  | { readonly kind: 'follows'; readonly at: Moment; readonly who: string; readonly key: string }
  /**
   * The process `who`, which may hold the Lease `key`, has ended. Recorded only if coordinators watch Pods (rule 17).
   */
  | { readonly kind: 'ends'; readonly at: Moment; readonly who: string; readonly key: string }
  /** As leader of the Lease `key`, `who` wrote to a resource that the Lease protects. */
  | {
      readonly kind: 'writesElsewhere';
      readonly at: Moment;
      readonly who: string;
      readonly key: string;
      readonly token: number;
    }
  /** From `at` on, a coordinator believes that it is the only one, until `until` at the latest. */
  | { readonly kind: 'coordinates'; readonly at: Moment; readonly who: string; readonly until: Moment }
  /** From `at` on, it knows that it does not coordinate. */
  | { readonly kind: 'standsBy'; readonly at: Moment; readonly who: string }
  /** The storage was restored from a backup: later writes are undone, and these are the Leases. */
  | { readonly kind: 'restored'; readonly at: Moment; readonly leases: ReadonlyMap<string, LeaseState> };

/** Checks the events of a history one by one. */
export interface Invariant {
  /** Returns a description of the violation, if there is one. */
  observe(event: HistoryEvent): readonly string[];
}
