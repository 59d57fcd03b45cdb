import { hash } from 'node:crypto';
import type { Clock } from '../../support/clock.ts';
import type { JsonObject } from '../../support/json.ts';
import { namesOneOf } from '../http/accept.ts';
import type { Answer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { PathHandler } from '../http/path-handler.ts';
import type { ResourceDefinition } from '../resources/definition.ts';
import type { StructSchema } from '../schema/schema.ts';
import { addModel, type Models } from './open-api-schemas.ts';

const ROOT = '/openapi/v3';
const JSON_TYPE = 'application/json';
const YEAR_MS = 365 * 24 * 3_600_000;

const CUSTOM_PATCHES = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
];
const PATCHES = [...CUSTOM_PATCHES, 'application/strategic-merge-patch+json'];

/** /openapi/v3, which lists the documents, and each of them, by path. */
export function openApiHandlers(
  documents: ReadonlyMap<string, JsonObject>,
  clock: Clock,
): ReadonlyMap<string, PathHandler> {
  const written = [...documents].map(([name, document]) => ({ name, ...write(name, document) }));
  const urls = written.map(({ name, path, hash }) => [name, { serverRelativeURL: `${path}?hash=${hash}` }]);
  const index: Answer = {
    code: 200,
    contentType: JSON_TYPE,
    body: JSON.stringify({ paths: Object.fromEntries(urls) }),
  };
  return new Map([
    [ROOT, () => index],
    ...written.map((each): [string, PathHandler] => [
      each.path,
      (exchange) => documentAnswer(each, exchange, clock),
    ]),
  ]);
}

/**
 * The OpenAPI documents, by the path of what they describe: `apis/coordination.k8s.io/v1`. They have what kubectl reads:
 * the kinds, for `explain` and for the patches of `apply`, and what each path takes, for its validation.
 */
export function openApiDocuments(
  resources: readonly ResourceDefinition[],
  gitVersion: string,
): ReadonlyMap<string, JsonObject> {
  const drafts = new Map<string, Draft>();
  for (const definition of resources) {
    const { group, kind } = definition;
    for (const { version, schema } of definition.versions) {
      const draft = draftOf(drafts, group, version);
      Object.assign(draft.paths, pathsOf(definition, version, schema));
      addModel(draft.models, schema, { 'x-kubernetes-group-version-kind': [{ group, version, kind }] });
    }
  }
  const [, release = ''] = /^v(\d+\.\d+)/.exec(gitVersion) ?? [];
  return new Map([...drafts].map(([path, draft]) => [path, document(draft, release)]));
}

/** A document under construction: one version of a group. */
interface Draft {
  readonly paths: Record<string, unknown>;
  readonly models: Models;
}

function draftOf(drafts: Map<string, Draft>, group: string, version: string): Draft {
  const path = rootOf(group, version);
  const draft = drafts.get(path) ?? { paths: {}, models: new Map() };
  drafts.set(path, draft);
  return draft;
}

function rootOf(group: string, version: string): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

/** The paths of a resource in one version. */
function pathsOf(definition: ResourceDefinition, version: string, { model }: StructSchema): JsonObject {
  const { group, kind, resource, isNamespaced, isCustom } = definition;
  const operation = (action: string, more: JsonObject = {}): JsonObject => ({
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
    ...more,
  });
  const body = (mediaTypes: readonly string[], schema: JsonObject): JsonObject => ({
    requestBody: {
      required: true,
      content: Object.fromEntries(mediaTypes.map((type) => [type, { schema }])),
    },
  });
  const object = body(['*/*'], { $ref: `#/components/schemas/${model}` });
  const root = `/${rootOf(group, version)}`;
  const all = isNamespaced ? `${root}/namespaces/{namespace}/${resource}` : `${root}/${resource}`;
  const paths: Record<string, JsonObject> = {
    [`${root}/${resource}`]: { get: operation('list') },
    [all]: {
      get: operation('list'),
      post: operation('post', object),
      ...(isNamespaced && { delete: operation('deletecollection') }),
    },
    [`${all}/{name}`]: {
      get: operation('get'),
      put: operation('put', object),
      delete: operation('delete'),
      // kubectl looks here for whether the server validates fields, and takes strategic merge patches.
      patch: operation('patch', { ...body(isCustom ? CUSTOM_PATCHES : PATCHES, {}), parameters: ofPatch }),
    },
  };
  return Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, withParameters(path, item)]));
}

const ofPatch: readonly JsonObject[] = [
  { name: 'dryRun', in: 'query', schema: { type: 'string' } },
  { name: 'fieldManager', in: 'query', schema: { type: 'string' } },
  { name: 'fieldValidation', in: 'query', schema: { type: 'string' } },
  { name: 'force', in: 'query', schema: { type: 'boolean' } },
];

/** Adds the parameters that stand in the path itself. */
function withParameters(path: string, item: JsonObject): JsonObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return parameters.length === 0 ? item : { ...item, parameters };
}

function document({ paths, models }: Draft, release: string): JsonObject {
  return {
    openapi: '3.0.0',
    info: { title: 'Coordination API', version: release },
    paths,
    components: { schemas: Object.fromEntries(models) },
  };
}

/** A document as it is sent. */
interface WrittenDocument {
  /** Where it is served. */
  readonly path: string;
  readonly text: string;
  readonly hash: string;
}

function write(name: string, document: JsonObject): WrittenDocument {
  const text = JSON.stringify(document);
  return { path: `${ROOT}/${name}`, text, hash: hash('sha512', text, 'hex').toUpperCase() };
}

function documentAnswer(
  { path, text, hash }: WrittenDocument,
  { target, incoming, reader }: Exchange,
  clock: Clock,
): Answer {
  const tag = `"${hash}"`;
  const headers = ['Etag', tag, 'Vary', 'Accept'];
  const empty = { contentType: '', body: '' };
  if (reader.accept !== '' && !namesOneOf(reader.accept, [JSON_TYPE]))
    return { code: 406, ...empty, headers: ['Vary', 'Accept'] };
  const asked = target.query.get('hash');
  if (asked !== null && asked !== hash) {
    return { code: 301, ...empty, headers: [...headers, 'Location', `${path}?hash=${hash}`] };
  }
  if (incoming.header('if-none-match') === tag) return { code: 304, ...empty, headers };
  const answer = { code: 200, contentType: JSON_TYPE, body: text };
  if (asked === null) return { ...answer, headers };
  // What is asked for by its hash never changes: clients may keep it.
  const expires = new Date(Number(clock.wallTime() / 1000n) + YEAR_MS).toUTCString();
  return { ...answer, headers: [...headers, 'Expires', expires], cacheControl: 'public, immutable' };
}
