/** A line of the coordinator's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly time: string;
  readonly lease?: string;
  readonly reason?: string;
  readonly holder?: string;
  readonly state?: string;
  readonly [key: string]: unknown;
}
