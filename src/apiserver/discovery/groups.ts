import { hash } from 'node:crypto';
import type { JsonObject } from '../../support/json.ts';
import { reviews } from '../access/reviews.ts';
import { methodNotAllowed } from '../errors/api-error.ts';
import { type Answer, type Exchange, layoutFor, objectAnswer, type PathHandler } from '../http/answer.ts';
import {
  acceptedTypes,
  type Forms,
  type Negotiated,
  namesOneOf,
  negotiate,
  noForms,
  noRepresentation,
  notAcceptable,
} from '../http/negotiation.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';

/** A resource as discovery shows it in each version. */
type ServedResource = Pick<
  ResourceDefinition,
  'group' | 'resource' | 'singular' | 'kind' | 'isNamespaced' | 'shortNames' | 'categories' | 'isCustom'
> & { readonly verbs: readonly string[] };

/** A group of the API; '' is the core group. */
interface ServedGroup {
  readonly name: string;
  /** Preferred version first. */
  readonly versions: readonly ServedVersion[];
}

interface ServedVersion {
  readonly version: string;
  /** The name for clients: `coordination.k8s.io/v1`, or `v1` in the core group. */
  readonly groupVersion: string;
  readonly resources: readonly ServedResource[];
}

/** The verbs of custom resources, in the order of kube-apiserver's lists. */
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** All versions, the most mature first. */
const VERSIONS = ['v1', 'v1beta1', 'v1alpha2', 'v1alpha1'];

/** The aggregated form: all groups in one list, for newer clients. */
const discoveryForms: Forms = ({ group, version, kind }) =>
  group === 'apidiscovery.k8s.io' &&
  kind === 'APIGroupDiscoveryList' &&
  (version === 'v2' || version === 'v2beta1');

/** Returns the handlers of /api, /apis and the paths below them, by path. */
export function groupHandlers(resources: readonly ResourceDefinition[]): ReadonlyMap<string, PathHandler> {
  const groups = servedGroups(resources);
  const handlers = new Map<string, PathHandler>();
  const add = (path: string, handler: PathHandler) => {
    handlers.set(path, handler);
    handlers.set(`${path}/`, handler);
  };
  const core = groups.filter(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '');
  add(
    '/api',
    onlyGet((exchange) =>
      overview(exchange, core, {
        kind: 'APIVersions',
        versions: core.flatMap(({ versions }) => versions.map(({ version }) => version)),
        serverAddressByClientCIDRs: [
          { clientCIDR: '0.0.0.0/0', serverAddress: exchange.incoming.header('host') },
        ],
      }),
    ),
  );
  add('/apis', (exchange) =>
    overview(exchange, named, { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(apiGroup) }),
  );
  for (const group of groups) {
    const base = group.name === '' ? '/api' : `/apis/${group.name}`;
    if (group.name !== '') {
      const body = { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) };
      add(base, (exchange) => plainAnswer(exchange, body));
    }
    for (const version of group.versions) {
      const body = apiResourceList(group.name, version);
      add(
        `${base}/${version.version}`,
        onlyGet((exchange) => plainAnswer(exchange, body)),
      );
    }
  }
  return handlers;
}

/** Wraps a handler. Rejects methods other than GET, and clients that accept none of the `written` formats. */
export function onlyGet(handler: PathHandler, written: readonly string[] = acceptedTypes): PathHandler {
  return (exchange) => {
    const { incoming, reader } = exchange;
    if (incoming.method !== 'GET') throw methodNotAllowed();
    if (reader.accept !== '' && !namesOneOf(reader.accept, written)) throw noRepresentation(written);
    return handler(exchange);
  };
}

/** Returns all served groups, including reviews of the user's own access, in the order of their first definition. */
function servedGroups(resources: readonly ResourceDefinition[]): readonly ServedGroup[] {
  const served: { readonly version: string; readonly resource: ServedResource }[] = [
    ...resources.flatMap((definition) =>
      definition.versions.map(({ version }) => ({
        version,
        resource: { ...definition, verbs: verbsOf(definition) },
      })),
    ),
    ...reviews.map((review) => ({
      version: review.version,
      resource: { ...review, isNamespaced: false, shortNames: [], verbs: ['create'] },
    })),
  ];
  return [...Map.groupBy(served, ({ resource }) => resource.group)].map(([name, inGroup]) => ({
    name,
    versions: [...Map.groupBy(inGroup, ({ version }) => version)]
      .map(([version, inVersion]) => ({
        version,
        groupVersion: name === '' ? version : `${name}/${version}`,
        resources: inVersion
          .map(({ resource }) => resource)
          .toSorted((one, other) => (one.resource < other.resource ? -1 : 1)),
      }))
      .toSorted((one, other) => VERSIONS.indexOf(one.version) - VERSIONS.indexOf(other.version)),
  }));
}

/** Resources that are not namespaced have no deletecollection. */
function verbsOf({ isNamespaced, isCustom }: ResourceDefinition): readonly string[] {
  if (isCustom) return CUSTOM_VERBS;
  return isNamespaced ? ALL_VERBS : ALL_VERBS.filter((verb) => verb !== 'deletecollection');
}

/** The APIGroup of /apis and /apis/GROUP. */
function apiGroup({ name, versions }: ServedGroup): JsonObject {
  const served = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: served, preferredVersion: served[0] };
}

/** The APIResourceList of one version of a group. */
function apiResourceList(group: string, { groupVersion, resources }: ServedVersion): JsonObject {
  return {
    kind: 'APIResourceList',
    // The list of the core group has no apiVersion, for compatibility with old clients.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion,
    resources: resources.map(({ resource, singular, isNamespaced, kind, verbs, ...names }) => ({
      name: resource,
      singularName: singular,
      namespaced: isNamespaced,
      kind,
      verbs,
      ...otherNames(names),
    })),
  };
}

/** One group of an APIGroupDiscoveryList, which contains all groups. */
function apiGroupDiscovery({ name, versions }: ServedGroup): JsonObject {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map(({ resource, singular, kind, isNamespaced, isCustom, verbs, ...names }) => ({
        resource,
        responseKind: isCustom ? { group: name, version, kind } : { group: '', version: '', kind },
        scope: isNamespaced ? 'Namespaced' : 'Cluster',
        singularResource: singular,
        verbs,
        ...otherNames(names),
      })),
      freshness: 'Current',
    })),
  };
}

function otherNames({
  shortNames,
  categories,
}: Pick<ServedResource, 'shortNames' | 'categories'>): JsonObject {
  return { ...(shortNames.length > 0 && { shortNames }), ...(categories && { categories }) };
}

function plainAnswer({ reader }: Exchange, body: object): Answer {
  const negotiated = negotiate(reader.accept, noForms);
  if (negotiated === undefined) throw notAcceptable();
  return objectAnswer(200, body, layoutFor(reader, negotiated));
}

function overview(exchange: Exchange, groups: readonly ServedGroup[], plain: object): Answer {
  const { reader, incoming } = exchange;
  const negotiated = negotiate(reader.accept, discoveryForms);
  if (negotiated === undefined) throw notAcceptable();
  if (negotiated.transform === undefined) return objectAnswer(200, plain, layoutFor(reader, negotiated));
  const answer = aggregated(exchange, groups, negotiated);
  const tag = `"${hash('sha512', answer.body, 'hex').toUpperCase()}"`;
  const kept = { headers: ['Etag', tag, 'Vary', 'Accept'], cacheControl: 'public' };
  if (incoming.header('if-none-match') === tag) return { code: 304, contentType: '', body: '', ...kept };
  return { ...answer, ...kept };
}

function aggregated({ reader }: Exchange, groups: readonly ServedGroup[], negotiated: Negotiated): Answer {
  const { version = 'v2' } = negotiated.transform ?? {};
  const body = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map(apiGroupDiscovery),
  };
  const answer = objectAnswer(200, body, layoutFor(reader, negotiated));
  // Clients recognize the form by the Content-Type, because older servers ignore unknown forms in the Accept header.
  const contentType = `${negotiated.mediaType};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  return { ...answer, contentType };
}
