import type { JsonObject } from '../../support/json.ts';
import type { FieldSchema, ListSchema, ScalarSchema, StructSchema, TypeSchema } from '../schema/schema.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Models by name. */
export type Models = Map<string, JsonObject>;

/** Adds the model of a type, and of all that it is made of. `extra` are fields of the model itself. */
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

/** Beside a reference nothing else may stand. */
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
