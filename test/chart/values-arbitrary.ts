import fc from 'fast-check';
import type { JsonSchema } from './json-schema.ts';

/**
 * Random values that a schema allows: for each object any of its properties, or the examples of a schema.
 * @throws Error for a schema that is too vague
 */
export function valuesOf(schema: JsonSchema, root: JsonSchema = schema): fc.Arbitrary<unknown> {
  const made = (part: JsonSchema) => valuesOf(part, root);
  if (schema.$ref !== undefined) return made(definition(schema.$ref, root));
  if (schema.examples) return fc.constantFrom(...schema.examples);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(made));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 });
    case 'string':
      return schema.pattern === undefined
        ? fc.string({ unit: 'grapheme', maxLength: 20 })
        : fc.stringMatching(new RegExp(schema.pattern), { maxLength: schema.maxLength ?? 1_000 });
    case 'array': {
      const bounds = { maxLength: Math.min(schema.maxItems ?? 3, 3) };
      const items = made(itemsOf(schema));
      return schema.uniqueItems ? fc.uniqueArray(items, bounds) : fc.array(items, bounds);
    }
    case 'object':
      return objectsOf(schema, made);
    default:
      throw new Error(`no values can be made of the schema ${JSON.stringify(schema)}`);
  }
}

function objectsOf(
  schema: JsonSchema,
  made: (part: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object') {
    const names = made({ type: 'string', ...schema.propertyNames }) as fc.Arbitrary<string>;
    return fc.dictionary(names, made(additionalProperties), { maxKeys: 3, noNullPrototype: true });
  }
  const model = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, part]) => [name, made(part)]),
  );
  return fc.record(model, { requiredKeys: [...(schema.required ?? [])], noNullPrototype: true });
}

function itemsOf({ items }: JsonSchema): JsonSchema {
  if (!items) throw new Error('an array whose schema does not say what is in it');
  return items;
}

function definition(reference: string, root: JsonSchema): JsonSchema {
  const found = root.$defs?.[reference.replace('#/$defs/', '')];
  if (!found) throw new Error(`there is no ${reference}`);
  return found;
}
