import { isJsonObject, type JsonObject } from '../../support/json.ts';
import { type Decoded, MOST_STRICT_PROBLEMS } from './decoded.ts';
import { goQuote } from './go-text.ts';
import { objectMetaSchema } from './object-meta.ts';
import { membersOf } from './read-json.ts';
import type { StructSchema, TypeSchema } from './schema.ts';
import { settle } from './settle.ts';

/**
 * Reads a custom resource as the API server does: fields that the schema does not have are pruned, null is as good as
 * absent, and defaults are set. Only the types of metadata are looked at, by `decodeTyped`.
 */
export function decodeStructural(
  schema: StructSchema,
  value: JsonObject,
  decodeTyped: (schema: StructSchema, value: unknown) => Decoded,
): Decoded {
  const metadata = decodeTyped(objectMetaSchema, value['metadata'] ?? {});
  const { managedFields, ...others } = metadata.value;
  // No managedFields are as good as none that were sent: they do not make the server forget who owns what.
  const isOwned = Array.isArray(managedFields) && managedFields.length > 0;
  const pruned: string[] = [];
  const kept = prune(schema, value, '', pruned) as JsonObject;
  const unknownFields = [
    ...metadata.unknownFields.map((path) => `metadata.${path}`),
    ...pruned.filter((path) => !path.startsWith('metadata.')).sort(),
  ];
  const problems = [
    ...duplicatesIn(value, '').map((path) => `duplicate field ${goQuote(path)}`),
    ...unknownFields.map((path) => `unknown field ${goQuote(path)}`),
  ];
  return {
    value: settle(schema, { ...kept, metadata: isOwned ? metadata.value : others }),
    unknownFields,
    strictProblems: problems.slice(0, MOST_STRICT_PROBLEMS),
  };
}

/** The value without what its type does not know, whose paths go to `pruned`. */
function prune(type: TypeSchema, value: unknown, path: string, pruned: string[]): unknown {
  if (!isJsonObject(value)) return value;
  const fields = type.kind === 'struct' ? type.fields : {};
  const kept: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) pruned.push(fieldPath);
    else if (each !== null) kept[name] = prune(field.type, each, fieldPath, pruned);
  }
  return kept;
}

/** The paths of the fields that are there twice, in a value that readJson has read. */
function duplicatesIn(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const seen = new Set<string>();
  const isList = Array.isArray(value);
  return membersOf(value).flatMap(({ key, value: each }) => {
    const place = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const isDuplicate = seen.has(key);
    seen.add(key);
    return [...(isDuplicate ? [place] : []), ...duplicatesIn(each, place)];
  });
}
