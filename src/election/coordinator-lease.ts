/**
 * The coordinator's own lock, where no other namespace is set: the same Lease as the built-in controller's. A Lease of that
 * name is never coordinated, in whatever namespace, as a coordinator may have its lock there (rule 10).
 */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;
