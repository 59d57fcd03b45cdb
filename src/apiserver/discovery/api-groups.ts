import { hash } from 'node:crypto';
import type { JsonObject } from '../../support/json.ts';
import { reviews } from '../access/reviews.ts';
import type { ResourceDefinition } from '../resources/definition.ts';

/** A resource in one version, as discovery tells of it. */
export interface ServedResource {
  /** Plural. */
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs: readonly string[];
  /** The group and version of its kind, where those who ask for everything at once are told. */
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
  /** Changes with the version that objects are stored in; absent where none are. */
  readonly storageVersionHash?: string;
}

/** A version of a group. */
export interface ServedVersion {
  readonly version: string;
  readonly resources: readonly ServedResource[];
}

/** A group of the API. */
export interface ServedGroup {
  /** '' for the core group. */
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** In the order in which the real server names them. */
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Everything that is served, reviews of one's own access included, in the order of its first definition. */
export function servedGroups(resources: readonly ResourceDefinition[]): readonly ServedGroup[] {
  const groups = new Map<string, Map<string, ServedResource[]>>();
  const add = (group: string, version: string, resource: ServedResource) => {
    const versions = groups.get(group) ?? new Map<string, ServedResource[]>();
    groups.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), resource]);
  };
  for (const { group, resource: name, versions, ...definition } of resources) {
    const { singular, kind, isNamespaced, shortNames, categories, isCustom } = definition;
    const storageVersionHash = storageVersionHashOf(definition.storage, resources);
    const resource = {
      ...{ name, singular, kind, isNamespaced, shortNames },
      ...(categories && { categories }),
      verbs: verbsOf(definition),
      storageVersionHash,
    };
    for (const { version } of versions) {
      const responseKind = isCustom ? { group, version, kind } : { group: '', version: '', kind };
      add(group, version, { ...resource, responseKind });
    }
  }
  for (const { group, version, resource: name, singular, kind } of reviews) {
    add(group, version, {
      ...{ name, singular, kind, isNamespaced: false, shortNames: [], verbs: ['create'] },
      responseKind: { group: '', version: '', kind },
    });
  }
  return [...groups].map(([name, versions]) => ({
    name,
    versions: [...versions]
      .map(([version, served]) => ({
        version,
        resources: served.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      }))
      .toSorted((a, b) => compareVersions(a.version, b.version)),
  }));
}

/** The verbs that a resource knows: those that are in no namespace are never deleted all at once. */
export function verbsOf({
  isNamespaced,
  isCustom,
}: Pick<ResourceDefinition, 'isNamespaced' | 'isCustom'>): readonly string[] {
  if (isCustom) return CUSTOM_VERBS;
  return isNamespaced ? ALL_VERBS : ALL_VERBS.filter((verb) => verb !== 'deletecollection');
}

/** Objects that are shared among groups are stored as those of the first of them, in its preferred version. */
function storageVersionHashOf(storage: string, resources: readonly ResourceDefinition[]): string {
  const { group = '', kind = '', versions = [] } = resources.find((each) => each.storage === storage) ?? {};
  const digest = hash('sha256', `${group}/${versions[0]?.version}/${kind}`, 'buffer');
  return digest.subarray(0, 8).toString('base64');
}

/** `coordination.k8s.io/v1`, or `v1` in the core group. */
export function groupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The APIGroup of /apis and /apis/GROUP. */
export function apiGroup({ name, versions }: ServedGroup): JsonObject {
  const served = versions.map(({ version }) => ({ groupVersion: groupVersion(name, version), version }));
  return { name, versions: served, preferredVersion: served[0] };
}

/** The APIResourceList of one version of a group. */
export function apiResourceList(group: string, { version, resources }: ServedVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    // The core group is older than the habit of naming it.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: groupVersion(group, version),
    resources: resources.map(({ singular, isNamespaced, shortNames, responseKind: _, ...resource }) => ({
      singularName: singular,
      namespaced: isNamespaced,
      ...(shortNames.length > 0 && { shortNames }),
      ...resource,
    })),
  };
}

/** One group of an APIGroupDiscoveryList, which tells everything at once. */
export function apiGroupDiscovery({ name, versions }: ServedGroup): JsonObject {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map((resource) => ({
        resource: resource.name,
        responseKind: resource.responseKind,
        scope: resource.isNamespaced ? 'Namespaced' : 'Cluster',
        singularResource: resource.singular,
        verbs: resource.verbs,
        ...(resource.shortNames.length > 0 && { shortNames: resource.shortNames }),
        ...(resource.categories && { categories: resource.categories }),
      })),
      freshness: 'Current',
    })),
  };
}

/** The mature before betas before alphas, and the newer first. */
function compareVersions(one: string, other: string): number {
  const [a, b] = [maturity(one), maturity(other)];
  const at = a.findIndex((each, index) => each !== b[index]);
  return at === -1 ? 0 : (b[at] ?? 0) - (a[at] ?? 0);
}

function maturity(version: string): readonly number[] {
  const [, major = '0', stage = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
  return [stage === '' ? 2 : stage === 'beta' ? 1 : 0, Number(major), Number(minor)];
}
