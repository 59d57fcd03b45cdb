/** What a participant knows of its election, and what it does in it. */
export interface ParticipantState {
  /** Who holds the Lease; undefined where nobody does, or its record has expired by this program's own observation. */
  readonly holder: string | undefined;
  /**
   * `leading` from the first renewal of a grant on; `ending` while the callback of a term that is over has not ended;
   * `following` otherwise.
   */
  readonly role: 'following' | 'leading' | 'ending';
  /** Whether it stands as candidate: false after `withdraw`, until `stand`. */
  readonly isStanding: boolean;
}
