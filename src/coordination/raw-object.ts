import type { MicroTime } from '../election/model.ts';
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

/** Texts that many objects have, such as namespaces, versions and names of Leases. */
const common = new Map<string, string>();
const MAX_COMMON = 1000;
/** In characters. A name in Kubernetes has 253 at most; a server may send any text, which must not stay when its object goes. */
const LONGEST_COMMON = 256;

/**
 * `text`, as the one that is kept already where it is the same: JSON has each text anew, in however many thousand objects it
 * stands. `known` is the one that the former state of the object has.
 */
export function keptText<T extends string | undefined>(text: T, known: string | undefined): T {
  return text === known ? (known as T) : text;
}

/** The same for a text that other objects may have as well. */
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
