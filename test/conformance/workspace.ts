import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { expectAnswer } from './expected.ts';
import type { Answer, Body, ConformanceTarget, RequestOptions } from './target.ts';
import type { WatchedStream } from './watched-stream.ts';

/** A test's own part of a server. */
export interface Workspace {
  readonly target: ConformanceTarget;
  readonly namespace: string;
  readonly leases: Collection;
  /** LeaseCandidates in the preferred version. */
  readonly candidates: Collection;
  /** LeaseCandidates in a version. */
  candidatesIn(version: string): Collection;
  request(method: string, path: string, options?: Asked): Promise<Answer>;
}

/** The additions to a request. */
export interface Asked extends RequestOptions {
  /** Query parameters, in this order. */
  readonly query?: Readonly<Record<string, string | number | boolean>>;
}

/** The objects of one resource in one namespace. */
export interface Collection {
  readonly path: string;
  create(object: unknown, asked?: Asked): Promise<Answer>;
  /** Creates a valid object, and returns it as the server shows it. */
  make(object: unknown, asked?: Asked): Promise<Body>;
  get(name: string, asked?: Asked): Promise<Answer>;
  list(asked?: Asked): Promise<Answer>;
  replace(name: string, object: unknown, asked?: Asked): Promise<Answer>;
  jsonPatch(name: string, patch: unknown, asked?: Asked): Promise<Answer>;
  mergePatch(name: string, patch: unknown, asked?: Asked): Promise<Answer>;
  strategicPatch(name: string, patch: unknown, asked?: Asked): Promise<Answer>;
  /** Adds the kind and version of the collection. `manager` '': no field manager. */
  apply(name: string, manager: string, object: object, asked?: Asked): Promise<Answer>;
  delete(name: string, options?: unknown, asked?: Asked): Promise<Answer>;
  deleteAll(options?: unknown, asked?: Asked): Promise<Answer>;
  watch(asked?: Asked): Promise<WatchedStream>;
  /** Returns a revision after all writes here so far. */
  revision(): Promise<string>;
}

/** The objects of a {@link Collection}. */
export interface CollectionKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
}

export const mediaTypes = {
  jsonPatch: 'application/json-patch+json',
  mergePatch: 'application/merge-patch+json',
  strategicPatch: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
} as const;

let workspaces = 0;
const run = randomBytes(4).toString('hex');

/** Returns a name that is unique on all servers. */
export function uniqueName(prefix: string): string {
  workspaces += 1;
  return `${prefix}-${run}-${workspaces}`;
}

/** Creates a namespace for one test. It is never deleted, because the server is. */
export async function openWorkspace(target: ConformanceTarget): Promise<Workspace> {
  const namespace = uniqueName('conformance');
  const created = await target.request('POST', '/api/v1/namespaces', {
    body: { metadata: { name: namespace } },
  });
  expect(created.code, created.text).toBe(201);
  const candidatesIn = (version: string) =>
    collectionOf(target, namespace, {
      apiVersion: `coordination.k8s.io/${version}`,
      kind: 'LeaseCandidate',
      resource: 'leasecandidates',
    });
  return {
    target,
    namespace,
    leases: collectionOf(target, namespace, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      resource: 'leases',
    }),
    candidates: candidatesIn(target.candidateVersions[0]),
    candidatesIn,
    request: (method, path, asked = {}) => target.request(method, withQuery(path, asked), asked),
  };
}

/** The objects of a kind in a namespace; `namespace` '' for cluster-scoped objects. */
export function collectionOf(target: ConformanceTarget, namespace: string, type: CollectionKind): Collection {
  const { apiVersion, kind, resource } = type;
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const path = `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${resource}`;
  const at = (name: string) => `${path}/${name}`;
  const ask = (method: string, where: string, asked: Asked) =>
    target.request(method, withQuery(where, asked), asked);
  const patch =
    (contentType: string) =>
    (name: string, body: unknown, asked: Asked = {}) =>
      ask('PATCH', at(name), { body, contentType, ...asked });
  return {
    path,
    create: (body, asked = {}) => ask('POST', path, { body, ...asked }),
    async make(body, asked = {}) {
      const answer = await ask('POST', path, { body, ...asked });
      expect(answer.code, answer.text).toBe(201);
      return answer.json;
    },
    get: (name, asked = {}) => ask('GET', at(name), asked),
    list: (asked = {}) => ask('GET', path, asked),
    replace: (name, body, asked = {}) => ask('PUT', at(name), { body, ...asked }),
    jsonPatch: patch(mediaTypes.jsonPatch),
    mergePatch: patch(mediaTypes.mergePatch),
    strategicPatch: patch(mediaTypes.strategicPatch),
    apply: (name, manager, object, asked = {}) =>
      ask('PATCH', at(name), {
        body: { apiVersion, kind, ...object },
        contentType: mediaTypes.apply,
        ...asked,
        query: { ...(manager !== '' && { fieldManager: manager }), ...asked.query },
      }),
    delete: (name, options, asked = {}) =>
      ask('DELETE', at(name), { ...(options !== undefined && { body: options }), ...asked }),
    deleteAll: (options, asked = {}) =>
      ask('DELETE', path, { ...(options !== undefined && { body: options }), ...asked }),
    watch: (asked = {}) => target.watch(withQuery(path, asked), asked),
    async revision() {
      const answer = await ask('GET', path, {});
      expect(answer.code, answer.text).toBe(200);
      return answer.json.metadata.resourceVersion;
    },
  };
}

/** Expects that the object does not exist. */
export async function expectGone(collection: Collection, name: string, notFound: unknown): Promise<void> {
  expectAnswer(await collection.get(name), 404, notFound);
}

function withQuery(path: string, { query }: Asked): string {
  if (query === undefined || Object.keys(query).length === 0) return path;
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `${path}${path.includes('?') ? '&' : '?'}${pairs.join('&')}`;
}
