import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import type { ResourceRule } from '../../src/apiserver/access/access-rule.ts';

interface KubernetesRole {
  readonly metadata: { readonly namespace?: string };
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

/** The rules of deploy/rbac.yaml, as the embedded server's tokens have them: those know no names of single objects. */
export async function coordinatorRules(): Promise<readonly ResourceRule[]> {
  const text = await readFile(new URL('../../deploy/rbac.yaml', import.meta.url), 'utf8');
  const roles = parseAllDocuments(text).map((document) => document.toJS() as KubernetesRole);
  return roles.flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.map(({ apiGroups, resources, verbs }) => ({
      verbs,
      groups: apiGroups,
      resources,
      ...(namespace !== undefined && { namespaces: [namespace] }),
    })),
  );
}
