/** The parts of an RBAC object that grant permissions. */
export interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }[];
}

/**
 * Lists all permissions of the objects' bindings, one line each, sorted: `ServiceAccount a/b in all namespaces:
 * create leases.coordination.k8s.io`.
 * @throws Error for a binding whose role is not among the objects
 */
export function permissionsOf(objects: readonly RbacObject[]): readonly string[] {
  const allowed = objects.flatMap((binding) => {
    const { roleRef, subjects = [], metadata } = binding;
    if (!roleRef) return [];
    const role = objects.find(
      (object) =>
        object.kind === roleRef.kind &&
        object.metadata.name === roleRef.name &&
        (roleRef.kind === 'ClusterRole' || object.metadata.namespace === metadata.namespace),
    );
    if (!role) throw new Error(`${binding.kind} ${metadata.name} is bound to a role that is not there`);
    const where = binding.kind === 'RoleBinding' ? `in ${metadata.namespace}` : 'in all namespaces';
    const who = subjects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
    return who.flatMap((subject) => permissionsIn(role).map((what) => `${subject} ${where}: ${what}`));
  });
  return [...new Set(allowed)].sort();
}

/** Lists all permissions of the rules: `create leases.coordination.k8s.io`. */
export function permissionsIn({
  rules = [],
}: {
  readonly rules?: RbacObject['rules'] | undefined;
}): readonly string[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (resourceNames ?? [undefined]).map((name) =>
            [verb, group === '' ? resource : `${resource}.${group}`, ...(name ? [name] : [])].join(' '),
          ),
        ),
      ),
    ),
  );
}
