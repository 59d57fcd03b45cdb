import { valuesTable } from './values-documentation.ts';

/** Returns the chart's README.md for its values.yaml. */
export function chartReadme(values: string): string {
  return `# coordinated-leader-election

Installs the [coordinator](../../README.md): two replicas, one of which elects the leaders of a cluster's Leases.

\`\`\`console
helm install coordinated-leader-election charts/coordinated-leader-election --namespace kube-system \\
  --set image.repository=<registry>/coordinated-leader-election
helm test coordinated-leader-election --namespace kube-system
\`\`\`

After the installation, helm prints how to see the first election. The chart works with Kubernetes 1.31 and later. The
[README](../../README.md#what-it-needs) describes what the feature gate adds.

## What it may do

The coordinator's ServiceAccount has four roles: LeaseCandidates, Leases, Events, and the lock
\`kube-system/leader-election-controller\`. If \`namespaces\` is set, the first three are Roles in these namespaces, and the chart
grants no cluster-wide rights. The lock is in kube-system, or in \`config.lockNamespace\`. A cluster has one lock, and therefore one
active coordinator. A second release only waits for the lock, even if it has other \`namespaces\`. In namespaces that the holder of
the lock does not coordinate, there are no elections.

Two more roles are for users. Bind \`<name>:participant\` to the ServiceAccount of a program that takes part in elections of its
namespace. Bind \`<name>:reader\` to users who may see the candidates of a namespace. If these roles are ClusterRoles, Kubernetes'
own role \`view\` includes the reader. With \`rbac.aggregateToEdit\`, \`edit\` and \`admin\` include the participant: users with these
roles can then become the leader of any vacant Lease of their namespaces. \`kubectl cle audit\` also
[lists Leases and Pods](../../docs/reference/cli.md#audit). It needs no release of this chart.

Two settings add a role. \`config.leaderLabel\` adds the right to list and patch Pods, for a label on the Pod of each leader.
\`crashEvidence.enabled\` adds the right to get, list and watch Pods, so that the coordinator sees when a leader's container has
ended. If \`namespaces\` is not set, this role may also list and watch Namespaces, because an annotation of a Namespace can ask for
crash evidence.

With \`flowSchema.enabled\`, a FlowSchema gives requests for Leases and LeaseCandidates the API server's priority level
\`leader-election\`, for the coordinator and for ServiceAccounts in their namespaces.

## What it defines

The chart installs a CustomResourceDefinition: LeaseCandidates of the group \`coordinated-leader-election.dev\`, for clusters that do
not serve Kubernetes' own LeaseCandidates. A cluster has one such definition, and its deletion deletes all candidates. Therefore
the definition stays after an uninstallation, unless \`crds.keep\` is false. A later release with the same name and namespace takes
over the definition. Another release needs \`--take-ownership\` to take it over, or \`crds.install=false\` to leave it alone.

## Upgrade and rollback

An upgrade replaces the Pods one by one. A new Pod is ready when it has seen the cluster. It coordinates only when it holds the
lock, which the old Pod releases when it stops. There are never two coordinators, and there is no coordinator for at most two
seconds. A rollback works in the same way. [docs/how-to/upgrade.md](../../docs/how-to/upgrade.md) describes the steps.

After an uninstallation from a cluster with the feature gate, the controller built into kube-apiserver takes over within half a
minute, or within 5 s if you have scaled the Deployment to 0 before. In any other cluster, leaders then continue to lead, and a
Lease that loses its leader stays without one. [docs/how-to/uninstall.md](../../docs/how-to/uninstall.md) describes the steps.

## Values

\`values.schema.json\` refuses all other values.

${valuesTable(values)}
`;
}
