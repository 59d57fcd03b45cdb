import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { goJson } from '../schema/go-text.ts';
import type { StructSchema } from '../schema/schema.ts';
import { compareObjects } from './comparison.ts';
import { difference, emptyFieldSet, type FieldSet } from './field-set.ts';
import { checkConfiguration } from './typed-check.ts';
import { fieldSetOf } from './typed-fields.ts';

/** Where `kubectl apply` keeps, in the object, what it applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const LONGEST_ANNOTATIONS = 262_144;

/**
 * The fields that `kubectl apply` has applied and that nobody has changed since. `kubectl apply --server-side` may take
 * them from whoever owns them: that is how one moves from one to the other.
 */
export function lastAppliedFields(schema: StructSchema, live: ApiObject): FieldSet {
  const last = parse(live.metadata.annotations?.[LAST_APPLIED]);
  const isSame = last?.['apiVersion'] === live.apiVersion && last['kind'] === live.kind;
  if (!isSame || checkConfiguration(schema, last) !== undefined) return emptyFieldSet();
  const { modified, added, removed } = compareObjects(schema, last, live);
  return [modified, added, removed].reduce(difference, fieldSetOf(schema, last));
}

function parse(text = ''): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Brings the annotation of `kubectl apply`, where there is one, up to date with what has been applied by the server. */
export function withLastApplied(object: ApiObject, config: JsonObject): ApiObject {
  const annotations = object.metadata.annotations ?? {};
  if (!annotations[LAST_APPLIED]) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  const updated = { ...annotations, [LAST_APPLIED]: `${goJson(sorted(withoutItself(config)))}\n` };
  const length = Object.entries(updated)
    .flat()
    .reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const kept = length > LONGEST_ANNOTATIONS ? others : updated;
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

function withoutItself(config: JsonObject): JsonObject {
  const metadata = config['metadata'];
  if (!isJsonObject(metadata) || !isJsonObject(metadata['annotations'])) return config;
  const { [LAST_APPLIED]: _, ...annotations } = metadata['annotations'];
  return { ...config, metadata: { ...metadata, annotations } };
}

/** The value with its keys in the order in which Go writes them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}
