import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { startCommanded } from './commanded-process.ts';

/** A program that takes part in elections: client-go's candidate and elector, as far as a coordinator can tell. */
export interface SimProgram {
  /** The name of its LeaseCandidate and the identity that it holds the Lease by. */
  readonly name: string;
  readonly lease: string;
  readonly emulationVersion: string;
  /** Whether it holds its Lease from the start. */
  readonly isHolder?: boolean;
  /** One that is silent has a LeaseCandidate that answers nothing. */
  readonly isSilent?: boolean;
  /** How long ago its LeaseCandidate says, when it is created, that it last renewed; default 0. */
  readonly renewedAgoMs?: number;
}

/** What is asked of the process that plays them; each is answered once it has taken effect. */
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
  /** What a holder writes, whatever duration it was granted; default 15, that of Kubernetes' components. */
  readonly leaseDurationSeconds?: number;
}

/** Where they play. */
export interface SimSite {
  readonly url: string;
  readonly caFile: string;
  readonly adminToken: string;
  readonly namespace: string;
}

/**
 * Thousands of programs in one process, with one watch for all of them: client-go's own have two watches each, and would
 * leave nothing of a small machine to what is measured. They answer each ping at once, and look at a Lease that they were
 * granted when a client-go elector would.
 */
export interface SimPrograms {
  /** The process that plays them. */
  readonly pid: number;
  /** From their next renewal on all holders renew like this, later ones too. */
  pace(pace: Pace): Promise<void>;
  /** Creates the Leases that have a holder, then the candidates, in this order and as fast as the server takes them. */
  start(programs: readonly SimProgram[], renewEveryMs?: number): Promise<void>;
  /** From now on it renews and answers nothing. Resolves to when the Lease that it holds expires, in ms since the epoch. */
  crash(name: string): Promise<number>;
  /** Empties its Lease and ends, as programs do that exit: its LeaseCandidate stays, and answers nothing. */
  release(name: string): Promise<void>;
  /** Deletes LeaseCandidates. */
  remove(names: readonly string[]): Promise<void>;
  /** How many pings have been answered so far. */
  countAcks(): Promise<number>;
  /** By how much, in ms, its event loop was late in one case of a hundred since this was asked last. */
  lateness(): Promise<number>;
  /** Ends the process, and so crashes all. */
  stop(): Promise<void>;
}

/** Starts a process without programs yet, all of which will live in `namespace`. It ends with this one at the latest. */
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
