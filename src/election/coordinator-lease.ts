/** The coordinator's own lock, the same Lease as the built-in controller's; it is never coordinated (rule 10). */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;
