import type { MicroTime } from '../election/model.ts';
import type { KubernetesObject } from '../kubernetes/objects.ts';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { parseMicroTime } from './micro-time.ts';

/** Strings that many objects contain and share in memory, such as namespaces, versions and names of Leases. */
const common = new Map<string, string>();
const MAX_COMMON = 1000;
/** Maximum characters of a string in `common`, to limit memory. A Kubernetes name has at most 253. */
const LONGEST_COMMON = 256;

/** Returns `known` if it equals `text`, so that equal strings share memory. Otherwise, returns `text`. */
export function keptText<T extends string | undefined>(text: T, known: string | undefined): T {
  return text === known ? (known as T) : text;
}

/**
 * Returns a string equal to `text`. To save memory, returns an existing string if possible: `known`, or the string from
 * an earlier call.
 */
export function commonText<T extends string | undefined>(text: T, known: string | undefined): T {
  if (text === undefined) return text;
  if (text.length > LONGEST_COMMON) return keptText(text, known);
  if (text === known) return known as T;
  const found = common.get(text);
  if (found !== undefined) return found as T;
  if (common.size >= MAX_COMMON) common.clear();
  common.set(text, text);
  return text;
}

/** Returns the object's spec; an empty object if it has no spec, which a CRD or an old server may allow. */
export function specOf(object: JsonObject): JsonObject {
  const spec = object['spec'];
  return isJsonObject(spec) ? spec : {};
}

export function annotationsOf({ metadata }: KubernetesObject): JsonObject {
  const annotations = metadata['annotations'];
  return isJsonObject(annotations) ? annotations : {};
}

/** Returns the objects in the list `name`. Skips values of other types. Returns [] if the field is not a list. */
export function objectsIn(fields: JsonObject, name: string): readonly JsonObject[] {
  const list = fields[name];
  return Array.isArray(list) ? list.filter((one) => isJsonObject(one)) : [];
}

/** Returns a field that is a string; undefined if it is absent, null or of another type. */
export function textField(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns an int32 field; undefined for anything else. */
export function integerField(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' && (value | 0) === value ? value : undefined;
}

export function timeField(fields: JsonObject, name: string): MicroTime | undefined {
  const text = textField(fields, name);
  return text === undefined ? undefined : parseMicroTime(text);
}

/** Returns the managers in metadata.managedFields that own the field at `path`, such as `['spec', 'strategy']`. */
export function ownersOf(object: KubernetesObject | undefined, path: readonly string[]): readonly string[] {
  if (!object) return [];
  const owners = objectsIn(object.metadata, 'managedFields').flatMap(({ manager, fieldsV1 }) =>
    typeof manager === 'string' && hasField(fieldsV1, path) ? [manager] : [],
  );
  return [...new Set(owners)].sort();
}

function hasField(fields: unknown, path: readonly string[]): boolean {
  let found = fields;
  for (const name of path) found = isJsonObject(found) ? found[`f:${name}`] : undefined;
  return found !== undefined;
}
