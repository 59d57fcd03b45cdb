import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import type { FieldSchema, StructSchema } from '../schema/schema.ts';
import type { Attributes, Principal } from './access.ts';

/** A client's question about its own access. The client creates an object, which the server does not keep. */
export interface Review {
  readonly group: string;
  readonly version: 'v1';
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly schema: StructSchema;
  /** The answer's fields, but for kind and apiVersion. @throws {ApiError} 400 or 422 */
  answer(principal: Principal, question: JsonObject): JsonObject;
}

const AUTHORIZATION = 'authorization.k8s.io';

/** What a review has around its question. OpenAPI does not describe reviews. */
function review(group: string, name: string, spec?: StructSchema): StructSchema {
  return struct(group, name, {
    ...optional('string', 'apiVersion', 'kind'),
    ...optional('opaque', 'metadata', 'status'),
    ...(spec && { spec: { type: spec, description: '', zero: 'fill', isRequired: true } }),
  });
}

function struct(group: string, name: string, fields: StructSchema['fields']): StructSchema {
  return { kind: 'struct', name, model: `io.k8s.api.${group}.v1.${name}`, description: '', fields };
}

function optional(kind: 'string' | 'opaque', ...names: readonly string[]): Record<string, FieldSchema> {
  const field: FieldSchema = { type: { kind }, description: '', zero: 'omit' };
  return Object.fromEntries(names.map((name) => [name, field]));
}

function pointer(type: StructSchema): FieldSchema {
  return { type, description: '', zero: 'keep' };
}

/** SelfSubjectAccessReview: may I do this? */
export const accessReviewSchema: StructSchema = review(
  'authorization',
  'SelfSubjectAccessReview',
  struct('authorization', 'SelfSubjectAccessReviewSpec', {
    resourceAttributes: pointer(
      struct(
        'authorization',
        'ResourceAttributes',
        optional('string', 'namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
      ),
    ),
    nonResourceAttributes: pointer(
      struct('authorization', 'NonResourceAttributes', optional('string', 'path', 'verb')),
    ),
  }),
);

/** All that are answered. */
export const reviews: readonly Review[] = [
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    resource: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    kind: 'SelfSubjectReview',
    schema: review('authentication', 'SelfSubjectReview'),
    answer: ({ user: { name: username, groups } }) => ({
      metadata: {},
      status: { userInfo: { username, groups } },
    }),
  },
  {
    group: AUTHORIZATION,
    version: 'v1',
    resource: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    kind: 'SelfSubjectAccessReview',
    schema: accessReviewSchema,
    answer: (principal, { spec }) => ({
      metadata: {},
      spec,
      status: { allowed: principal.may(askedAttributes(isJsonObject(spec) ? spec : {})) },
    }),
  },
];

function askedAttributes({ resourceAttributes, nonResourceAttributes }: JsonObject): Attributes {
  const refused = (field: string, value: unknown, problem: string) =>
    invalidObject({ group: AUTHORIZATION, name: '' }, '', [invalid(`spec.${field}`, value, problem)]);
  if (isJsonObject(resourceAttributes)) {
    if (nonResourceAttributes !== undefined) {
      const problem = 'cannot be specified in combination with resourceAttributes';
      throw refused('nonResourceAttributes', nonResourceAttributes, problem);
    }
    const { subresource, namespace, name } = resourceAttributes;
    return {
      kind: 'resource',
      verb: text(resourceAttributes['verb']),
      group: text(resourceAttributes['group']),
      resource: text(resourceAttributes['resource']),
      ...(typeof subresource === 'string' && subresource !== '' && { subresource }),
      ...(typeof namespace === 'string' && namespace !== '' && { namespace }),
      ...(typeof name === 'string' && name !== '' && { name }),
    };
  }
  if (isJsonObject(nonResourceAttributes)) {
    const { verb, path } = nonResourceAttributes;
    return { kind: 'path', verb: text(verb), path: text(path) };
  }
  const problem = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  throw refused('resourceAttributes', null, problem);
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
