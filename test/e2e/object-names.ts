import type { Shell } from './runbooks/shell.ts';

// Events expire by themselves; of the others, one is deprecated and one is not an object.
const script = `kinds=$(kubectl api-resources --verbs=list --output=name |
  grep --invert-match --extended-regexp '^(events|endpoints|componentstatuses)' | paste --serial --delimiters=,)
kubectl get "$kinds" --all-namespaces --ignore-not-found --no-headers \\
  --output=custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name`;

/** All objects of a cluster: kind, namespace and name of each. */
export async function objectNames(shell: Shell): Promise<readonly string[]> {
  const { code, output } = await shell.run(script);
  if (code !== 0) throw new Error(`the objects cannot be listed: ${output}`);
  return output.trim().split('\n');
}
