import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { rightsFor } from '../../src/inspection/evidence.ts';

test('doctor checks exactly the permissions in deploy/rbac.yaml', async () => {
  const text = await readFile(new URL('../../deploy/rbac.yaml', import.meta.url), 'utf8');
  const roles = parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');
  const granted = roles.flatMap(({ metadata, rules }) =>
    rules.flatMap(({ apiGroups, resources, resourceNames, verbs }: Record<string, string[]>) =>
      (verbs ?? []).flatMap((verb) =>
        (apiGroups ?? []).flatMap((group) =>
          (resources ?? []).map((resource) => ({
            ...{ group, resource, verb },
            ...(metadata.namespace && { namespace: metadata.namespace }),
            ...(resourceNames && { name: resourceNames[0] }),
          })),
        ),
      ),
    ),
  );
  const rights = rightsFor('kube-system');
  expect(granted).toHaveLength(rights.length);
  expect(granted).toEqual(expect.arrayContaining([...rights]));
});
