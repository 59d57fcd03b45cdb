import { dirname, extname, join } from 'node:path';
import type { WatchedObject } from '../control-plane/followed-objects.ts';
import type { Ask } from './ask.ts';
import { keyOf } from './followed-collection.ts';
import type { Replica } from './replica.ts';

/** An object in a cache: its key, uid and resourceVersion. */
export type CachedObject = readonly [key: string, uid: string, resourceVersion: string];

/** The coordinator's view of the objects, on which its elections decide. */
export interface CachedObjects {
  readonly leases: readonly CachedObject[];
  readonly candidates: readonly CachedObject[];
}

/** What the server has. */
export interface ServedObjects {
  readonly leases: readonly WatchedObject[];
  readonly candidates: readonly WatchedObject[];
}

/** These functions run in the coordinator: their source is sent to it. */
const readStores = `(stores) => {
  const cached = { leases: [], candidates: [] };
  for (const store of stores) for (const object of store.values()) {
    const list = 'leaseName' in object ? cached.candidates : 'leaseTransitions' in object ? cached.leases : undefined;
    list?.push([object.namespace + '/' + object.name, object.uid, object.resourceVersion]);
  }
  return cached;
}`;
const readRecords = `(all) => {
  const cached = { leases: [], candidates: [] };
  const idOf = (object) => [object.namespace + '/' + object.name, object.uid, object.resourceVersion];
  for (const records of all) for (const key of records.coordinatedLeases()) {
    const { lease, candidates } = records.gather(key);
    if (lease) cached.leases.push(idOf(lease));
    for (const { candidate } of candidates) cached.candidates.push(idOf(candidate));
  }
  return cached;
}`;

/** The classes with the caches: the reflectors' stores, and the election records. */
const caches = [
  { module: 'kubernetes/store', name: 'ObjectStore', read: readStores },
  { module: 'controller/election-records', name: 'ElectionRecords', read: readRecords },
] as const;

/** Reads the caches of a replica with the program `main` through the inspector, because only this test needs them. */
export async function readCaches(
  { inspector }: Replica,
  main: string,
): Promise<readonly { readonly name: string; readonly objects: CachedObjects }[]> {
  const found: { readonly name: string; readonly objects: CachedObjects }[] = [];
  for (const { module, name, read } of caches) {
    const path = join(dirname(main), `${module}${extname(main)}`);
    const objects = await inspector.readInstances<CachedObjects>({ module: path, name }, read);
    found.push({ name, objects });
  }
  return found;
}

/** All Leases and candidates except the coordinators' lock, which is renewed all the time. */
export async function listServed(ask: Ask): Promise<ServedObjects> {
  const [leases, candidates] = await Promise.all([
    list(ask, '/apis/coordination.k8s.io/v1/leases'),
    list(ask, '/apis/coordination.k8s.io/v1beta1/leasecandidates'),
  ]);
  return { leases: leases.filter(isElected), candidates };
}

async function list(ask: Ask, path: string): Promise<readonly WatchedObject[]> {
  const { object } = await ask('GET', path);
  if (object === undefined) throw new Error(`${path} cannot be listed`);
  return (object as { readonly items: readonly WatchedObject[] }).items;
}

function isElected({ metadata }: WatchedObject): boolean {
  return metadata.namespace !== 'kube-system';
}

/** Returns the differences between a cache and the server, by object. */
export function differencesOf(cached: CachedObjects, served: ServedObjects): ReadonlyMap<string, string> {
  return new Map(
    (['leases', 'candidates'] as const).flatMap((kind) =>
      differencesIn(cached[kind], served[kind]).map(([key, what]) => [`${kind} ${key}`, what] as const),
    ),
  );
}

function differencesIn(
  cached: readonly CachedObject[],
  served: readonly WatchedObject[],
): readonly (readonly [key: string, what: string])[] {
  const kept = Map.groupBy(
    cached.filter(([key]) => !key.startsWith('kube-system/')),
    ([key]) => key,
  );
  const differences: (readonly [string, string])[] = [];
  for (const object of served) {
    const { uid, resourceVersion } = object.metadata;
    const key = keyOf(object);
    const [same, ...others] = kept.get(key) ?? [];
    kept.delete(key);
    const [, itsUid, itsVersion] = same ?? [];
    if (!same) differences.push([key, 'is missing']);
    else if (others.length > 0) differences.push([key, `is there ${1 + others.length} times`]);
    else if (itsUid !== uid) differences.push([key, 'is one that was deleted']);
    // The cache is read after the list: it may contain a later renewal, but never an earlier one.
    else if (Number(itsVersion) < Number(resourceVersion))
      differences.push([key, `is at ${itsVersion}, and not at ${resourceVersion} yet`]);
  }
  return [...differences, ...kept.keys().map((key) => [key, 'is there no more'] as const)];
}
