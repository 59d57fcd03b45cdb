import { stringify } from 'yaml';

interface Labelled {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object };
}

/** Labels and annotations that only Helm needs. */
const helmLabels: readonly string[] = ['helm.sh/chart', 'app.kubernetes.io/managed-by'];

const origin = '# Generated from charts/coordinated-leader-election; a test compares them.\n';

/** Sorts objects by their names alone. */
export function sorted<T extends Labelled>(objects: readonly T[]): readonly T[] {
  return [...objects].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The same as YAML. */
export function sortedYaml(objects: readonly Labelled[]): string {
  return sorted(objects)
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

/** The kind, namespace and name of an object, which are unique within a release. */
export function keyOf({ kind, metadata: { name, namespace = '' } }: Labelled): string {
  return `${kind} ${namespace}/${name}`;
}

/** The files of the kustomize base for a release's objects, by name. */
export function kustomizeBase(objects: readonly Labelled[]): Readonly<Record<string, string>> {
  const plain = objects.map(withoutHelm);
  const groups = Object.groupBy(plain, ({ apiVersion, kind }) =>
    apiVersion.startsWith('rbac.') ? 'rbac.yaml' : `${kind.toLowerCase()}.yaml`,
  );
  const files = Object.entries(groups).map(
    ([name, group = []]) => [name, origin + sortedYaml(group)] as const,
  );
  const resources = files.map(([name]) => name).sort();
  const kustomization = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources };
  return Object.fromEntries([...files, ['kustomization.yaml', origin + stringify(kustomization)]]);
}

/**
 * The files of a kustomize base for the alerts and the dashboard, by name. The dashboard's text is separate, in
 * `dashboard.json`.
 */
export function monitoringBase(rule: Labelled, dashboard: Labelled & { readonly data: object }) {
  const { name, namespace, labels } = withoutHelm(dashboard).metadata;
  const files = Object.keys(dashboard.data).map((key) => `${key}=dashboard.json`);
  const options = { disableNameSuffixHash: true, labels };
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['prometheus-rule.yaml'],
    configMapGenerator: [{ name, namespace, files, options }],
  };
  return {
    'prometheus-rule.yaml': plainManifest([rule]),
    'kustomization.yaml': origin + stringify(kustomization),
  };
}

/** All objects in one file, for `kubectl apply`. */
export function plainManifest(objects: readonly Labelled[]): string {
  return origin + sortedYaml(objects.map(withoutHelm));
}

function withoutHelm<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutHelm) as T;
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !helmLabels.includes(key));
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutHelm(each)])) as T;
}
