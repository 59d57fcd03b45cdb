import type { LockScenario } from './lock-model.ts';

export const lockScenarios: readonly LockScenario[] = [
  {
    name: 'lock-failover',
    about: 'two replicas: crashes, sleeps, lost answers',
    running: 2,
    hasBuiltIn: false,
    faults: { crashes: 1, restarts: 1, losses: 1, sleeps: 1, stops: 1 },
  },
  {
    name: 'lock-vandals',
    about: 'two replicas: the lock is deleted and emptied',
    running: 2,
    hasBuiltIn: false,
    faults: { deletions: 1, emptyings: 1, losses: 1, lags: 2, sleeps: 1 },
  },
  {
    name: 'lock-deleted-before-a-start',
    about: 'a replica starts right after the lock was deleted',
    running: 1,
    hasBuiltIn: false,
    isUnknowable: true,
    faults: { deletions: 1, restarts: 1, lags: 1, sleeps: 1 },
  },
  {
    name: 'lock-late-release',
    about: 'the built-in coordinator is ousted, and releases late what another holds by then',
    running: 2,
    hasBuiltIn: true,
    faults: { sleeps: 1, stops: 1, lags: 1 },
  },
];
