import type { MicroTime } from '../election/time.ts';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { parseMicroTime } from './micro-time.ts';

/** An object of the API as JSON has it, as far as every object is alike. */
export interface RawObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** What tells one object, and one state of it, from all others; '' where the server did not say. */
export function identityOf({ metadata }: RawObject) {
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
  };
}

/** The object's spec; empty where it has none, as a CRD or an old server may let through. */
export function specOf(object: JsonObject): JsonObject {
  const spec = object['spec'];
  return isJsonObject(spec) ? spec : {};
}

/** The object's annotations; empty where it has none. */
export function annotationsOf({ metadata }: RawObject): JsonObject {
  const annotations = metadata['annotations'];
  return isJsonObject(annotations) ? annotations : {};
}

/** A field that is text; undefined where it is absent, null or anything else. */
export function textField(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

/** An int32, as all whole numbers are that are read here. */
export function integerField(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' && (value | 0) === value ? value : undefined;
}

export function timeField(fields: JsonObject, name: string): MicroTime | undefined {
  const text = textField(fields, name);
  return text === undefined ? undefined : parseMicroTime(text);
}
