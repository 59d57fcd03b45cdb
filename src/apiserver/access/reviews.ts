import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { text } from '../schema/api-object.ts';
import { field, type StructSchema, struct } from '../schema/schema.ts';
import type { Attributes, Principal } from './access.ts';

/** A client's question about its own access. The client creates an object that the server does not store. */
export interface Review {
  readonly group: string;
  readonly version: 'v1';
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly schema: StructSchema;
  /** Returns the answer's fields except kind and apiVersion. @throws {ApiError} 400 or 422 */
  answer(principal: Principal, question: JsonObject): JsonObject;
}

const AUTHORIZATION = 'authorization.k8s.io';

const AUTHORIZATION_MODEL = 'io.k8s.api.authorization.v1';
const opaque = field({ kind: 'opaque' }, 'omit', '');

/** The fields of a review in addition to its question. OpenAPI does not describe reviews. */
const review = { ...texts('apiVersion', 'kind'), metadata: opaque, status: opaque };

function texts(...names: readonly string[]): StructSchema['fields'] {
  return Object.fromEntries(names.map((name) => [name, field(text, 'omit', '')]));
}

function authorization(name: string, fields: StructSchema['fields']): StructSchema {
  return struct(`${AUTHORIZATION_MODEL}.${name}`, '', fields);
}

const resourceAttributes = authorization(
  'ResourceAttributes',
  texts('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
);
const nonResourceAttributes = authorization('NonResourceAttributes', texts('path', 'verb'));
const accessReviewSpec = authorization('SelfSubjectAccessReviewSpec', {
  resourceAttributes: field(resourceAttributes, 'keep', ''),
  nonResourceAttributes: field(nonResourceAttributes, 'keep', ''),
});

/** SelfSubjectAccessReview asks whether the client may do an action. */
export const accessReviewSchema = authorization('SelfSubjectAccessReview', {
  ...review,
  spec: field(accessReviewSpec, 'fill', '', { isRequired: true }),
});

/** All reviews that the server answers. */
export const reviews: readonly Review[] = [
  {
    group: 'authentication.k8s.io',
    version: 'v1',
    resource: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    kind: 'SelfSubjectReview',
    schema: struct('io.k8s.api.authentication.v1.SelfSubjectReview', '', review),
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
      verb: textIn(resourceAttributes, 'verb'),
      group: textIn(resourceAttributes, 'group'),
      resource: textIn(resourceAttributes, 'resource'),
      ...(typeof subresource === 'string' && subresource !== '' && { subresource }),
      ...(typeof namespace === 'string' && namespace !== '' && { namespace }),
      ...(typeof name === 'string' && name !== '' && { name }),
    };
  }
  if (isJsonObject(nonResourceAttributes)) {
    return {
      kind: 'path',
      verb: textIn(nonResourceAttributes, 'verb'),
      path: textIn(nonResourceAttributes, 'path'),
    };
  }
  const problem = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  throw refused('resourceAttributes', null, problem);
}

function textIn(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}
