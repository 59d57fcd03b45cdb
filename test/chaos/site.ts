import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiAccess } from '../control-plane/api-request.ts';
import { coordinatorAccount } from '../control-plane/cluster-objects.ts';
import { startReaper } from '../control-plane/reaper.ts';
import { writeServerCredentials } from '../control-plane/server-args.ts';
import { COORDINATORS } from './cast.ts';
import type { Journal } from './journal.ts';
import { Link } from './link.ts';
import { SupervisedProcess } from './supervised-process.ts';

type ProcessOptions = Omit<ConstructorParameters<typeof SupervisedProcess>[0], 'reaper' | 'journal'>;

/** Owns all processes and links of a chaos run, and ends them. */
export interface Site {
  /** For data, keys and kubeconfigs, which are deleted after the run. */
  readonly work: string;
  /** For the record of the run. */
  readonly record: string;
  readonly journal: Journal;
  readonly adminToken: string;
  readonly candidateToken: string;
  readonly coordinatorTokens: readonly string[];
  /** Starts a process that ends with the site. */
  supervise(options: ProcessOptions): SupervisedProcess;
  /** Opens a link that is closed with the site. */
  link(port: number): Promise<Link>;
  /** Runs when the site is cleared, in reverse order. */
  onClear(close: () => Promise<unknown>): void;
  /** The administrator's access to an API server. It needs the certificate that the first one writes. */
  accessTo(port: number): Promise<ApiAccess>;
  /** Ends all of it, in any state. */
  clear(): Promise<void>;
}

function newToken(): string {
  return randomBytes(16).toString('hex');
}

export async function prepareSite(record: string, journal: Journal): Promise<Site> {
  const work = await mkdtemp(join(tmpdir(), 'chaos-servers-'));
  const reaper = startReaper(work);
  const closers: (() => Promise<unknown>)[] = [() => reaper.end()];
  const [adminToken, candidateToken] = [newToken(), newToken()];
  const coordinatorTokens = Array.from({ length: COORDINATORS }, newToken);
  const account = `system:serviceaccount:${coordinatorAccount.namespace}:${coordinatorAccount.name}`;
  await writeServerCredentials(work, [
    `${adminToken},admin,admin,"system:masters"`,
    `${candidateToken},candidate,candidate,"system:masters"`,
    // All use the same ServiceAccount and permissions. The audit log distinguishes them by their uids.
    ...coordinatorTokens.map(
      (token, index) => `${token},${account},coordinator-${index},"system:serviceaccounts"`,
    ),
  ]);
  return {
    work,
    record,
    journal,
    adminToken,
    candidateToken,
    coordinatorTokens,
    supervise(options) {
      const process = new SupervisedProcess({ reaper, journal, ...options });
      closers.push(() => process.stop());
      return process;
    },
    async link(port) {
      const link = await Link.start(port);
      closers.push(async () => link.close());
      return link;
    },
    onClear: (close) => void closers.push(close),
    async accessTo(port) {
      const ca = await readFile(join(work, 'apiserver.crt'), 'utf8');
      return { url: `https://127.0.0.1:${port}`, ca, token: adminToken };
    },
    async clear() {
      for (const close of closers.toReversed()) await close();
      closers.length = 0;
    },
  };
}
