import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { startCommanded } from './commanded-process.ts';

/** A program that takes part in elections: client-go's candidate and elector, as seen by a coordinator. */
export interface SimProgram {
  /** The name of its LeaseCandidate and its identity in the Lease. */
  readonly name: string;
  readonly lease: string;
  readonly emulationVersion: string;
  /** Whether it holds its Lease from the start. */
  readonly isHolder?: boolean;
  /** A silent one has a LeaseCandidate that answers nothing. */
  readonly isSilent?: boolean;
  /** The age of its last renewal when its LeaseCandidate is created; default 0. */
  readonly renewedAgoMs?: number;
}

/** The commands to the process that simulates them. Each is answered when it has taken effect. */
export type Command =
  | { readonly op: 'pace'; readonly pace: Pace }
  | { readonly op: 'start'; readonly programs: readonly SimProgram[] }
  | { readonly op: 'crash'; readonly name: string }
  | { readonly op: 'release'; readonly name: string }
  | { readonly op: 'remove'; readonly names: readonly string[] }
  | { readonly op: 'countAcks' }
  | { readonly op: 'lateness' };

/** How holders renew. */
export interface Pace {
  readonly renewEveryMs: number;
  /** The lease duration that a holder writes, whatever its grant; default 15, as in Kubernetes' components. */
  readonly leaseDurationSeconds?: number;
}

/** The place of the programs. */
export interface SimSite {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
  readonly namespace: string;
}

/**
 * Thousands of programs in one process, with one watch for all: programs of client-go have two watches each, and
 * would leave no capacity of a small machine to the measured coordinator. They answer each ping at once, and read a
 * granted Lease when a client-go elector would.
 */
export interface SimPrograms {
  /** The process that simulates them. */
  readonly pid: number;
  /** All holders renew like this from their next renewal on, including later holders. */
  pace(pace: Pace): Promise<void>;
  /** Creates the held Leases, then the candidates, in this order and as fast as the server accepts them. */
  start(programs: readonly SimProgram[], renewEveryMs?: number): Promise<void>;
  /** Stops its renewals and answers. Resolves to when its Lease expires, in ms since the epoch. */
  crash(name: string): Promise<number>;
  /** Empties its Lease and exits: its LeaseCandidate stays, and answers nothing. */
  release(name: string): Promise<void>;
  /** Deletes LeaseCandidates. */
  remove(names: readonly string[]): Promise<void>;
  /** Number of answered pings so far. */
  countAcks(): Promise<number>;
  /** The 99th percentile of its event loop's delay in ms, since the last call. */
  lateness(): Promise<number>;
  /** Kills the process, which crashes all programs. */
  stop(): Promise<void>;
}

/** Starts a process without programs. All its programs will be in `namespace`. It ends with this process. */
export async function startSimPrograms(plane: CoordinationServer, namespace: string): Promise<SimPrograms> {
  const { url, caFile, adminToken } = plane;
  const site: SimSite = { url, caFile, adminToken, namespace };
  const script = new URL('./sim-programs-process.ts', import.meta.url);
  const { pid, send, kill } = startCommanded<Command>(script, site);
  const pace: SimPrograms['pace'] = (pace) => send({ op: 'pace', pace }).then(() => {});
  return {
    pid,
    pace,
    async start(programs, renewEveryMs) {
      if (renewEveryMs !== undefined) await pace({ renewEveryMs });
      await send({ op: 'start', programs });
    },
    crash: (name) => send({ op: 'crash', name }),
    release: (name) => send({ op: 'release', name }).then(() => {}),
    remove: (names) => send({ op: 'remove', names }).then(() => {}),
    countAcks: () => send({ op: 'countAcks' }),
    lateness: () => send({ op: 'lateness' }),
    stop: kill,
  };
}
