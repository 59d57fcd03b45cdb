import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CoordinationPlane } from '../../../control-plane/coordination-plane.ts';
import { startCommanded } from '../commanded-process.ts';
import type { ProgramProcess, ProgramSpec, Work } from './programs.ts';

/** The place of participants: as in a pod, with a service account in a folder. */
export interface ParticipantSite {
  readonly url: string;
  readonly serviceAccountDirectory: string;
  /** Whether they are only the candidates of other programs. */
  readonly candidateOnly: boolean;
}

/** The commands to their process. */
export type ParticipantCommand =
  | { readonly op: 'start'; readonly spec: ProgramSpec }
  | { readonly op: 'stop'; readonly name: string }
  /** In milliseconds, since the last command of this kind. */
  | { readonly op: 'lateness' };

/** Starts a process for this project's participants, without programs. */
export async function startParticipants(
  plane: CoordinationPlane,
  note: (work: Work) => void,
  { candidateOnly = false }: { readonly candidateOnly?: boolean } = {},
): Promise<ProgramProcess> {
  const serviceAccountDirectory = await serviceAccountOf(plane);
  const site: ParticipantSite = { url: plane.url, serviceAccountDirectory, candidateOnly };
  const script = new URL('./participants-process.ts', import.meta.url);
  const { send, kill } = startCommanded<ParticipantCommand, Work>(script, site, note);
  return {
    start: (spec) => send({ op: 'start', spec }).then(() => {}),
    stop: (name) => send({ op: 'stop', name }).then(() => {}),
    kill,
    lateness: () => send({ op: 'lateness' }),
  };
}

/**
 * The files that a kubelet mounts in a pod, with the administrator's credentials: reading a kubeconfig would cost
 * each process 45 MB.
 */
async function serviceAccountOf({ directory, caFile, adminToken }: CoordinationPlane): Promise<string> {
  const folder = join(directory, 'service-account');
  await mkdir(folder, { recursive: true });
  await Promise.all([
    copyFile(caFile, join(folder, 'ca.crt')),
    writeFile(join(folder, 'token'), adminToken, { mode: 0o600 }),
  ]);
  return folder;
}
