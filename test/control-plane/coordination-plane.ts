import type { Electors } from './electors.ts';

/** A server of the coordination API, and a way in as its administrator. */
export interface CoordinationServer {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
  /**
   * One request as the administrator, with the answer's JSON. PATCH sends a merge patch.
   * @throws Error on any status but 2xx, with what the server said.
   */
  request<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
}

/** A server of the coordination API, whichever: a whole control plane's, or the embedded one. */
export interface CoordinationPlane extends CoordinationServer {
  /** Path of a kubeconfig that may do everything. */
  readonly kubeconfig: string;
  /** Everything it keeps is in here, logs too. Removed by `stop`, unless CLE_KEEP is set in the environment. */
  readonly directory: string;
  /** A process for many real candidates, with this plane's `kubeconfig` or another. */
  startElectors(kubeconfig?: string): Promise<Electors>;
  /** Kills all of it, what was started through it included. */
  stop(): Promise<void>;
}
