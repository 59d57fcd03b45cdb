import { valuesTable } from './values-documentation.ts';

/** The chart's README.md, for what its values.yaml says. */
export function chartReadme(values: string): string {
  return `# coordinated-leader-election

Installs the [coordinator](../../README.md): two replicas, one of which elects the leaders of a cluster's Leases.

\`\`\`console
helm install coordinated-leader-election charts/coordinated-leader-election --namespace kube-system \\
  --set image.repository=<registry>/coordinated-leader-election
helm test coordinated-leader-election --namespace kube-system
\`\`\`

What it prints when it is done says how to see the first election. Any Kubernetes from 1.31 on will do; the
[README](../../README.md#what-it-needs) says what more there is with the feature gate.

## What it may do

One role for each concern, bound to the ServiceAccount, and nothing else: LeaseCandidates, Leases, Events, and the lock
\`kube-system/leader-election-controller\`. With \`namespaces\` set, the first three are Roles in those namespaces, and
nothing cluster-wide is granted; the lock is in kube-system, or where \`config.lockNamespace\` says. There is one coordinator per cluster, as there is one
lock: a second release waits for it, whatever its namespaces, and nobody elects where the one that holds it does not.

Two more roles are for others: bind \`<name>:participant\` to the ServiceAccount of a program that takes part in elections of its
namespace, and \`<name>:reader\` to whoever may see its candidates. As ClusterRoles they are parts of Kubernetes' own: who has
\`edit\` or \`admin\` in a namespace is a participant there, and who has \`view\` a reader. \`kubectl cle audit\` also
[lists Leases and Pods](../../docs/cli.md#audit); it needs no release of this chart.

With \`config.leaderLabel\` there is one role more: to list and patch Pods, for a label that follows each leader. With
\`crashEvidence.enabled\` there is one more: to get, list and watch Pods, to notice that a leader's container has ended, and
without \`namespaces\` also to list and watch Namespaces, which may ask for this.

A FlowSchema gives Leases and LeaseCandidates the API server's priority level \`leader-election\`, for the coordinator and for
ServiceAccounts in their namespaces.

## What it defines

LeaseCandidates of the group \`coordinated-leader-election.dev\`, for clusters that do not serve those of Kubernetes. A cluster has one
definition, and all candidates go with it: so it stays when the release goes, unless \`crds.keep\` is false. The next release of the
same name and namespace takes it over; any other takes it over with \`--take-ownership\`, or leaves it alone with \`crds.install=false\`.

## Upgrade and rollback

Pods are replaced one by one. A new one is ready once it has seen the cluster, and coordinates only when it holds the lock,
which an old one lets go of as it stops: there are never two coordinators, and there is none for two seconds at most. A
rollback is the same the other way round. Uninstalling hands the cluster back to the controller built into kube-apiserver:
within half a minute, or within 5 s where the Deployment has been scaled to 0 before.
[docs/operations.md](../../docs/operations.md) goes through all of it.

## Values

Anything else is refused by \`values.schema.json\`.

${valuesTable(values)}
`;
}
