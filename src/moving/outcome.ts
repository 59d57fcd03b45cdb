/** What has come of a transfer; also what a script is given of it. */
export interface TransferOutcome {
  readonly namespace: string;
  readonly lease: string;
  /** Who was to lead. */
  readonly candidate: string;
  readonly leads: boolean;
  /** Who led before; undefined: nobody. */
  readonly formerLeader: string | undefined;
  /** Undefined: none was set, or it was taken back. */
  readonly priority: number | undefined;
  /** When the priority ends, in RFC 3339. */
  readonly until: string | undefined;
  /** Why it does not lead; undefined: it does. */
  readonly why: string | undefined;
}

/** What has come of a drain; also what a script is given of it. */
export interface DrainOutcome {
  /** Who was put behind all others. */
  readonly candidates: readonly {
    readonly namespace: string;
    readonly lease: string;
    readonly name: string;
  }[];
  /** When their priority ends, in RFC 3339; undefined: nobody was drained. */
  readonly until: string | undefined;
  /** Those that were led by one of them. */
  readonly leases: readonly MovedLease[];
}

/** A Lease whose leader was drained. */
export interface MovedLease {
  readonly namespace: string;
  readonly lease: string;
  readonly from: string;
  /** Who leads now; undefined: it stays. */
  readonly to: string | undefined;
  /** Why it stays; undefined: it has moved. */
  readonly why: string | undefined;
}
