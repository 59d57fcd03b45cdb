import type { FieldSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

function struct(name: string, description: string, fields: StructSchema['fields']): StructSchema {
  return { kind: 'struct', name, model: `${META}.${name}`, description, fields };
}

function field(type: TypeSchema, description: string): FieldSchema {
  return { type, description, zero: 'keep' };
}

const string: TypeSchema = { kind: 'string' };
const typeFields = {
  apiVersion: field(string, 'The group and version of this kind of object.'),
  kind: field(string, 'The kind of this object.'),
};

/** What a list says about itself. */
export const listMetaSchema = struct('ListMeta', 'What a list says about itself.', {
  resourceVersion: field(string, 'The state that the list shows: a watch can go on from it.'),
  continue: field(string, 'Asks for the rest of a list that was limited. Empty at its end.'),
  remainingItemCount: field({ kind: 'int64' }, 'How many items follow after this part of the list.'),
  selfLink: field(string, 'Unused.'),
});

const statusCause = struct('StatusCause', 'One reason of several why a request was refused.', {
  field: field(string, 'The path of the field that it is about.'),
  message: field(string, 'What is wrong, in words.'),
  reason: field(string, 'What is wrong, as a word that programs know.'),
});

const statusDetails = struct('StatusDetails', 'What a Status is about.', {
  causes: field(
    { kind: 'list', items: statusCause, listType: 'atomic' },
    'Everything that is wrong with the request.',
  ),
  group: field(string, 'The group of the resource.'),
  kind: field(string, 'The resource, or the kind of the object.'),
  name: field(string, 'The name of the object.'),
  retryAfterSeconds: field({ kind: 'int32' }, 'How long to wait before the request is tried again.'),
  uid: field(string, 'The UID of the object.'),
});

/** The answer to a request that is answered with no object. */
export const statusSchema = struct('Status', 'The answer to a request that is answered with no object.', {
  ...typeFields,
  metadata: { ...field(listMetaSchema, 'As in a list.'), zero: 'fill' },
  code: field({ kind: 'int32' }, 'The HTTP status code.'),
  details: field(statusDetails, 'What it is about.'),
  message: field(string, 'What has happened, in words.'),
  reason: field(string, 'What has happened, as a word that programs know.'),
  status: field(string, 'Success or Failure.'),
});

/** One line of a watch. */
export const watchEventSchema = struct('WatchEvent', 'One line of a watch.', {
  type: {
    type: string,
    description: 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.',
    zero: 'fill',
    isRequired: true,
  },
  object: {
    type: {
      kind: 'struct',
      name: 'RawExtension',
      model: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
      description: 'Any object.',
      fields: {},
    },
    description: 'The object after the change, or before its deletion; for ERROR a Status.',
    zero: 'keep',
    isRequired: true,
  },
});

/** A change to an object, in whatever form the Content-Type says. */
export const patchSchema = struct(
  'Patch',
  'A change to an object, in the form that its media type tells.',
  {},
);

/** The list of a kind of object. */
export function listSchema(item: StructSchema): StructSchema {
  return {
    kind: 'struct',
    name: `${item.name}List`,
    model: `${item.model}List`,
    description: `A list of objects of kind ${item.name}.`,
    fields: {
      ...typeFields,
      metadata: { type: listMetaSchema, description: 'What the list says about itself.', zero: 'fill' },
      items: {
        type: { kind: 'list', items: item, listType: 'atomic' },
        description: 'The objects, in the order of their namespaces and names.',
        zero: 'keep',
        isRequired: true,
      },
    },
  };
}
