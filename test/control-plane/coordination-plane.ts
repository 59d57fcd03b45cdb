import type { Electors } from './electors.ts';

/** A server of the coordination API, with administrator access. */
export interface CoordinationServer {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
  /**
   * Sends a request as the administrator, and returns the JSON of the answer. PATCH sends a merge patch.
   * @throws Error with the server's message on any status but 2xx
   */
  request<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
}

/** A server of the coordination API: a whole control plane's, or the embedded one. */
export interface CoordinationPlane extends CoordinationServer {
  /** Path of a kubeconfig with all permissions. */
  readonly kubeconfig: string;
  /** The folder of all its files, including logs. `stop` removes it, unless CLE_KEEP is set. */
  readonly directory: string;
  /** Starts a process for many real candidates, with this plane's `kubeconfig` or another one. */
  startElectors(kubeconfig?: string): Promise<Electors>;
  /** Kills all its processes, including those started through it. */
  stop(): Promise<void>;
}
