import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whose requests are counted. The built-in controller asks its own server, by this name. */
export const builtInUser = 'system:apiserver';
export const coordinatorUser = 'system:serviceaccount:kube-system:coordinated-leader-election';

/** The API server's own account of who asked it for what: the one that both coordinators appear in alike. */
export interface AuditLog {
  readonly apiServerArgs: readonly string[];
  /** Answered requests of `user` about objects in the namespace `default`, received in [from, to): ms since the epoch. */
  count(user: string, from: number, to: number): Promise<number>;
  remove(): Promise<void>;
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly namespace?: string };
  readonly requestReceivedTimestamp: string;
}

/** Prepares an audit log for a control plane that is started with its `apiServerArgs`. */
export async function createAuditLog(): Promise<AuditLog> {
  const directory = await mkdtemp(join(tmpdir(), 'audit-'));
  const policyFile = join(directory, 'policy.json');
  const logFile = join(directory, 'audit.log');
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    // What the candidates do is not logged at all: there is far more of it, and it would slow the server down.
    rules: [
      {
        level: 'Metadata',
        users: [builtInUser, coordinatorUser],
        resources: [{ group: 'coordination.k8s.io' }],
        namespaces: ['default'],
      },
      { level: 'None' },
    ],
  };
  await writeFile(policyFile, JSON.stringify(policy));
  return {
    apiServerArgs: [
      `--audit-policy-file=${policyFile}`,
      `--audit-log-path=${logFile}`,
      // Written before the request is answered: what is over is in the log.
      '--audit-log-mode=blocking',
    ],
    async count(user, from, to) {
      const lines = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line !== '');
      return lines
        .map((line) => JSON.parse(line) as AuditEvent)
        .filter(({ stage, verb, user: { username }, objectRef, requestReceivedTimestamp }) => {
          const receivedAt = Date.parse(requestReceivedTimestamp);
          return (
            stage === 'ResponseComplete' &&
            verb !== 'watch' &&
            username === user &&
            objectRef?.namespace === 'default' &&
            receivedAt >= from &&
            receivedAt < to
          );
        }).length;
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
