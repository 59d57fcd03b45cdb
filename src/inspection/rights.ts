import { coordinatorLease } from '../election/coordinator-lease.ts';
import { GROUP } from '../election/group.ts';

/** One thing that a coordinator must be allowed to do. */
export interface Right {
  /** '' is the core group's. */
  readonly group: 'coordination.k8s.io' | typeof GROUP | '';
  readonly resource: 'leases' | 'leasecandidates' | 'events' | 'pods';
  readonly verb: string;
  /** Undefined: in every namespace. */
  readonly namespace?: string;
  /** Undefined: whatever it is called. */
  readonly name?: string;
}

const NATIVE = 'coordination.k8s.io';

/** What deploy/rbac.yaml grants, and a coordinator needs that has its lock in `lockNamespace`. */
export const rightsFor = (lockNamespace: string): readonly Right[] => [
  ...['list', 'watch', 'create', 'patch'].map((verb): Right => ({ group: NATIVE, resource: 'leases', verb })),
  ...([NATIVE, GROUP] as const).flatMap((group) =>
    ['list', 'watch', 'patch', 'delete'].map((verb): Right => ({ group, resource: 'leasecandidates', verb })),
  ),
  ...['get', 'list', 'watch', 'update'].map(
    (verb): Right => ({
      group: NATIVE,
      resource: 'leases',
      verb,
      ...coordinatorLease,
      namespace: lockNamespace,
    }),
  ),
  { group: NATIVE, resource: 'leases', verb: 'create', namespace: lockNamespace },
  ...['create', 'patch'].map((verb): Right => ({ group: '', resource: 'events', verb })),
];

/** What the chart grants besides to a coordinator that labels the Pods of leaders. */
export const labelRights: readonly Right[] = ['list', 'patch'].map((verb) => ({
  group: '',
  resource: 'pods',
  verb,
}));

/** `patch leases`, `update leases/leader-election-controller in kube-system`; a group of ours is named. */
export function describeRight({ group, resource, verb, namespace, name }: Right): string {
  return `${verb} ${resource}${group === GROUP ? `.${group}` : ''}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
