import { hash } from 'node:crypto';
import type { JsonObject } from '../../support/json.ts';
import type { Answer, Exchange, PathHandler } from '../http/answer.ts';
import { namesOneOf } from '../http/negotiation.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import type { FieldSchema, ListSchema, ScalarSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

const ROOT = '/openapi/v3';
const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const JSON_TYPE = 'application/json';
/** A document with a hash in its URL never changes, so clients may cache it for a year. */
const KEPT = 'public, immutable, max-age=31536000';

const CUSTOM_PATCHES = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
];
const PATCHES = [...CUSTOM_PATCHES, 'application/strategic-merge-patch+json'];

/** Returns the handlers by path: of /openapi/v3, which lists the documents, and of each document. */
export function openApiHandlers(
  documents: ReadonlyMap<string, JsonObject>,
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
      (exchange) => documentAnswer(each, exchange),
    ]),
  ]);
}

/**
 * Returns the OpenAPI documents by path: `apis/coordination.k8s.io/v1`. They contain what kubectl reads: the kinds (for
 * `explain` and for the patches of `apply`), and the input of each path (for validation).
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
      // kubectl checks here whether the server supports field validation and strategic merge patches.
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

/** Adds the parameters in the path. */
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

export type Models = Map<string, JsonObject>;

/** Adds the model of a type and the models of its parts. `extra`: additional fields of the model itself. */
export function addModel(models: Models, schema: StructSchema, extra: JsonObject = {}): void {
  if (models.has(schema.model)) return;
  models.set(schema.model, { description: schema.description, ...modelOf(models, schema), ...extra });
}

function modelOf(models: Models, { fields, isAtomic }: StructSchema): JsonObject {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired);
  return {
    type: 'object',
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      Object.entries(fields)
        .map(([name, field]) => [name, property(models, field)] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ),
    ...(isAtomic && { 'x-kubernetes-map-type': 'atomic' }),
  };
}

function property(
  models: Models,
  { type, description, default: fallback, maxLength }: FieldSchema,
): JsonObject {
  return {
    description,
    ...(fallback !== undefined && { default: fallback }),
    ...element(models, type),
    ...(maxLength !== undefined && { maxLength }),
  };
}

/** OpenAPI allows no other field next to a reference. */
function element(models: Models, type: TypeSchema): JsonObject {
  const shown = typeOf(models, type);
  return '$ref' in shown ? { allOf: [shown] } : shown;
}

function typeOf(models: Models, type: TypeSchema): JsonObject {
  switch (type.kind) {
    case 'struct':
      // Only the kinds of custom resources have models of their own.
      if (type.isStructural && type.fields['metadata'] === undefined) return modelOf(models, type);
      addModel(models, type);
      return reference(type.model);
    case 'map':
      return { type: 'object', additionalProperties: element(models, type.values) };
    case 'list':
      return { type: 'array', items: element(models, type.items), ...listExtensions(type) };
    case 'opaque':
      return namedType(models, 'FieldsV1', {
        description: 'A set of fields, as JSON: a key for each field, and below it those that it is made of.',
        type: 'object',
      });
    case 'time':
      return namedType(models, 'Time', {
        description: 'A moment, to the second, as in RFC 3339.',
        type: 'string',
        format: 'date-time',
      });
    case 'microTime':
      return namedType(models, 'MicroTime', {
        description: 'A moment, to the microsecond: as in RFC 3339, with exactly six decimals.',
        type: 'string',
        format: 'date-time',
      });
    default:
      return scalarTypes[type.kind];
  }
}

function reference(model: string): JsonObject {
  return { $ref: `#/components/schemas/${model}` };
}

function namedType(models: Models, name: string, model: JsonObject): JsonObject {
  models.set(`${META}.${name}`, model);
  return reference(`${META}.${name}`);
}

const scalarTypes: Readonly<Record<Exclude<ScalarSchema['kind'], 'time' | 'microTime'>, JsonObject>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
};

function listExtensions({ listType, keys, patchStrategy }: ListSchema): JsonObject {
  return {
    ...(keys && { 'x-kubernetes-list-map-keys': keys }),
    'x-kubernetes-list-type': listType,
    ...(patchStrategy && { 'x-kubernetes-patch-strategy': 'merge' }),
    ...(patchStrategy?.mergeKey && { 'x-kubernetes-patch-merge-key': patchStrategy.mergeKey }),
  };
}

/** A serialized document. */
interface WrittenDocument {
  /** The path that serves the document. */
  readonly path: string;
  readonly text: string;
  readonly hash: string;
}

function write(name: string, document: JsonObject): WrittenDocument {
  const text = JSON.stringify(document);
  return { path: `${ROOT}/${name}`, text, hash: hash('sha512', text, 'hex').toUpperCase() };
}

function documentAnswer({ text, hash }: WrittenDocument, { target, incoming, reader }: Exchange): Answer {
  const tag = `"${hash}"`;
  const headers = ['Etag', tag, 'Vary', 'Accept'];
  const empty = { contentType: '', body: '' };
  if (reader.accept !== '' && !namesOneOf(reader.accept, [JSON_TYPE]))
    return { code: 406, ...empty, headers: ['Vary', 'Accept'] };
  if (incoming.header('if-none-match') === tag) return { code: 304, ...empty, headers };
  const answer = { code: 200, contentType: JSON_TYPE, body: text, headers };
  return target.query.get('hash') === hash ? { ...answer, cacheControl: KEPT } : answer;
}
