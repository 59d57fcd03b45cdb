import type { Action } from '../election/decision.ts';

/** `PingCandidate a`, `UpdateLease grant`, `CreateLease` */
export function describeAction(action: Action): string {
  if ('name' in action) return `${action.kind} ${action.name}`;
  return action.kind === 'UpdateLease' ? `${action.kind} ${action.change.kind}` : action.kind;
}
