import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import type { ResourceRule } from '../../src/apiserver/access/access.ts';

interface KubernetesRole {
  readonly metadata: { readonly namespace?: string };
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

/**
 * Like `patch coordination.k8s.io/leases`; with ` named the lock` only for the lock's own Lease, with ` in the lock`
 * only in its namespace.
 */
export type CoordinatorPermission = `${string} ${string}/${string}`;

async function readRoles(): Promise<readonly KubernetesRole[]> {
  const text = await readFile(new URL('../../deploy/rbac.yaml', import.meta.url), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as KubernetesRole);
}

/** Returns every permission in deploy/rbac.yaml. */
export async function coordinatorPermissions(): Promise<readonly CoordinatorPermission[]> {
  return (await readRoles()).flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) => {
      const where = namespace === undefined ? '' : resourceNames ? ' named the lock' : ' in the lock';
      return verbs.flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.map((resource): CoordinatorPermission => `${verb} ${group}/${resource}${where}`),
        ),
      );
    }),
  );
}

/**
 * Returns the rules of deploy/rbac.yaml for tokens of the embedded server, which do not support names of single
 * objects.
 */
export async function coordinatorRules(): Promise<readonly ResourceRule[]> {
  return (await readRoles()).flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.map(({ apiGroups, resources, verbs }) => ({
      verbs,
      groups: apiGroups,
      resources,
      ...(namespace !== undefined && { namespaces: [namespace] }),
    })),
  );
}
