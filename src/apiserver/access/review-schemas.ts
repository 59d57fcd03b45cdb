import type { FieldSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

const text: TypeSchema = { kind: 'string' };

function optional(type: TypeSchema, description: string): FieldSchema {
  return { type, description, zero: type.kind === 'struct' ? 'keep' : 'omit' };
}

function struct(
  group: string,
  name: string,
  description: string,
  fields: StructSchema['fields'],
): StructSchema {
  return { kind: 'struct', name, model: `io.k8s.api.${group}.v1.${name}`, description, fields };
}

/** What a review has around its question; nobody looks at its metadata. */
function review(group: string, name: string, description: string, spec?: StructSchema): StructSchema {
  return struct(group, name, description, {
    apiVersion: optional(text, 'The group and version of this kind of object.'),
    kind: optional(text, 'The kind of this object.'),
    metadata: optional({ kind: 'opaque' }, 'Unused.'),
    ...(spec && { spec: { type: spec, description: 'What is asked.', zero: 'fill', isRequired: true } }),
    status: optional({ kind: 'opaque' }, 'The answer.'),
  });
}

const resourceAttributes = struct('authorization', 'ResourceAttributes', 'Something to do with a resource.', {
  namespace: optional(text, 'The namespace; empty for all of them.'),
  verb: optional(text, 'What to do: get, list, watch, create, update, patch, delete or deletecollection.'),
  group: optional(text, 'The API group.'),
  version: optional(text, 'The version of the API group.'),
  resource: optional(text, 'The resource, in the plural.'),
  subresource: optional(text, 'The subresource, if it is about one.'),
  name: optional(text, 'The name of one object; empty for all of them.'),
});

const nonResourceAttributes = struct(
  'authorization',
  'NonResourceAttributes',
  'Something to do with a path.',
  {
    path: optional(text, 'The path of the URL.'),
    verb: optional(text, 'The HTTP method, in lower case.'),
  },
);

/** SelfSubjectAccessReview: may I do this? */
export const accessReviewSchema: StructSchema = review(
  'authorization',
  'SelfSubjectAccessReview',
  'Asks whether whoever asks may do something.',
  struct('authorization', 'SelfSubjectAccessReviewSpec', 'What is to be done.', {
    resourceAttributes: optional(resourceAttributes, 'Something to do with a resource.'),
    nonResourceAttributes: optional(nonResourceAttributes, 'Something to do with a path.'),
  }),
);

/** SelfSubjectRulesReview: what may I do? */
export const rulesReviewSchema: StructSchema = review(
  'authorization',
  'SelfSubjectRulesReview',
  'Asks what whoever asks may do in a namespace.',
  struct('authorization', 'SelfSubjectRulesReviewSpec', 'Where it is to be done.', {
    namespace: optional(text, 'The namespace.'),
  }),
);

/** SelfSubjectReview: who am I? */
export const selfReviewSchema: StructSchema = review(
  'authentication',
  'SelfSubjectReview',
  'Asks as whom the server knows whoever asks.',
);
