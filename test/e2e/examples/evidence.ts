import type { Shell } from '../runbooks/shell.ts';

/** The end of each log, in lines. */
const TAIL = 40;

/** What `kubectl describe` says of the containers of a pod and of their restarts. */
const containers = '^Name:|^  [a-z-]+:$|State:|Reason:|Message:|Exit Code:|Started:|Finished:|Restart Count:';

/**
 * Describes a program without a leader: its pods with the back-offs of their containers, its Lease and its candidates, what
 * the coordinator says of it, and the ends of the logs. Commands that fail say why, and the rest follows.
 */
export async function evidenceOf(shell: Shell, name: string, since: Date): Promise<string> {
  const ours = `--selector app=${name}`;
  const coordinators =
    '--namespace kube-system --selector app.kubernetes.io/name=coordinated-leader-election';
  const commands = [
    'kubectl get pods --all-namespaces --output wide',
    `kubectl describe pods ${ours} | grep --extended-regexp '${containers}'`,
    `kubectl get lease ${name} --output yaml`,
    'kubectl get leasecandidates.coordinated-leader-election.dev --output wide',
    `kubectl cle explain ${name}`,
    `kubectl logs ${ours} --all-containers --prefix --tail=${TAIL}`,
    `kubectl logs ${ours} --all-containers --prefix --tail=${TAIL} --previous --ignore-errors`,
    `kubectl logs ${coordinators} --prefix --tail=-1 | grep -e '/${name}"' -e '"level":"error"' | tail --lines=${TAIL}`,
  ];
  const parts = [`No leader since ${since.toISOString()}, now it is ${new Date().toISOString()}.`];
  for (const command of commands) parts.push(`$ ${command}\n${(await shell.run(command)).output}`);
  return parts.join('\n');
}
