import { type Key, MARK } from './records.ts';

/** A kind of object that the clients write. */
export interface Resource {
  /** Its name in the checker. An object without a group can also be created by a PUT. */
  readonly name: string;
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: (write: number) => object;
}

const candidate = (write: number) => ({
  leaseName: 'contested',
  binaryVersion: `1.${write}.0`,
  emulationVersion: `1.${write}.0`,
  strategy: 'OldestEmulationVersion',
});

export const resources: readonly Resource[] = [
  {
    name: 'leases',
    path: 'coordination.k8s.io/v1',
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: (write) => ({ holderIdentity: `holder-${write}`, leaseDurationSeconds: 1 + (write % 3600) }),
  },
  {
    name: 'leasecandidates',
    path: 'coordination.k8s.io/v1beta1',
    apiVersion: 'coordination.k8s.io/v1beta1',
    kind: 'LeaseCandidate',
    spec: candidate,
  },
  {
    name: 'leasecandidates.coordinated-leader-election.dev',
    path: 'coordinated-leader-election.dev/v1alpha1',
    apiVersion: 'coordinated-leader-election.dev/v1alpha1',
    kind: 'LeaseCandidate',
    spec: candidate,
  },
];

export const namespaces = ['north', 'south'] as const;

export function resourceNamed(name: string): Resource {
  const found = resources.find((each) => each.name === name);
  if (found === undefined) throw new Error(`unknown resource ${name}`);
  return found;
}

export function collectionPath({ name, path }: Resource, namespace: string): string {
  const plural = name.split('.')[0];
  return namespace === '' ? `/apis/${path}/${plural}` : `/apis/${path}/namespaces/${namespace}/${plural}`;
}

export function objectPath(key: Key): string {
  return `${collectionPath(resourceNamed(key.resource), key.namespace)}/${key.name}`;
}

/** The values of a write. */
export interface Wish {
  readonly mark: string;
  /** The number in the mark. */
  readonly write: number;
  readonly left?: string;
  readonly right?: string;
  readonly uid?: string | undefined;
  readonly resourceVersion?: number | undefined;
  /** The number of padding characters. */
  readonly padding: number;
}

const PADDING = 'histories.example/padding';

/** Returns the body of a create or of a PUT. */
export function wholeObject({ resource: name, namespace, name: called }: Key, wish: Wish): object {
  const { apiVersion, kind, spec } = resourceNamed(name);
  return {
    apiVersion,
    kind,
    metadata: {
      name: called,
      namespace,
      ...preconditions(wish),
      labels: { left: wish.left, right: wish.right },
      annotations: { [MARK]: wish.mark, ...(wish.padding > 0 && { [PADDING]: 'x'.repeat(wish.padding) }) },
    },
    spec: spec(wish.write),
  };
}

/** Returns the body of a merge patch. */
export function mergePatch({ resource }: Key, wish: Wish): object {
  return {
    metadata: {
      ...preconditions(wish),
      labels: {
        ...(wish.left !== undefined && { left: wish.left }),
        ...(wish.right !== undefined && { right: wish.right }),
      },
      annotations: { [MARK]: wish.mark, [PADDING]: wish.padding > 0 ? 'x'.repeat(wish.padding) : null },
    },
    spec: resourceNamed(resource).spec(wish.write),
  };
}

/** The required uid and resourceVersion, in metadata or in the options of a deletion. */
export function preconditions({ uid, resourceVersion }: Pick<Wish, 'uid' | 'resourceVersion'>): object {
  return {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion: String(resourceVersion) }),
  };
}
