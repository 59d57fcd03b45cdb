/** The result of a transfer, which is also the command's JSON and YAML output. */
export interface TransferOutcome {
  readonly namespace: string;
  readonly lease: string;
  /** The candidate that was to become the leader. */
  readonly candidate: string;
  readonly leads: boolean;
  /** The leader before; undefined if there was none. */
  readonly formerLeader: string | undefined;
  /** The new priority; undefined if none was set, or if it was removed again. */
  readonly priority: number | undefined;
  /** When the priority ends, in RFC 3339. */
  readonly until: string | undefined;
  /** Why the candidate does not lead; undefined if it leads. */
  readonly why: string | undefined;
}

/** The result of a drain, which is also the command's JSON and YAML output. */
export interface DrainOutcome {
  readonly candidates: readonly {
    readonly namespace: string;
    readonly lease: string;
    readonly name: string;
  }[];
  /** When the priority of the drained candidates ends, in RFC 3339; undefined if no candidate was drained. */
  readonly until: string | undefined;
  /** The Leases that a drained candidate led. */
  readonly leases: readonly MovedLease[];
}

export interface MovedLease {
  readonly namespace: string;
  readonly lease: string;
  readonly from: string;
  /** The new leader; undefined if the leader has not moved. */
  readonly to: string | undefined;
  /** Why the leader has not moved; undefined if it has. */
  readonly why: string | undefined;
}
