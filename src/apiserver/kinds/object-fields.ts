import { isJsonObject, type JsonObject } from '../../support/json.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StructSchema } from '../schema/schema.ts';
import { settle } from '../schema/settle.ts';

/** The struct that a field holds; empty where it holds none. */
export function structIn(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

/** The text that a field holds; '' where it holds none. */
export function textIn(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** The number that a field holds; undefined where it holds none. */
export function numberIn(object: JsonObject, field: string): number | undefined {
  const value = object[field];
  return typeof value === 'number' ? value : undefined;
}

/** The texts in the list that a field holds. */
export function textsIn(object: JsonObject, field: string): readonly string[] {
  const value = object[field];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

/**
 * An object with each field settled as its schema says, whoever put it together, as `apiVersion`. metadata.selfLink is known
 * to the API, but not kept.
 */
export function settled(schema: StructSchema, object: ApiObject, apiVersion: string): ApiObject {
  const { kind: _, apiVersion: __, metadata, ...rest } = settle(schema, object);
  const { selfLink: ___, ...kept } = isJsonObject(metadata) ? metadata : {};
  // Settled by the schema of ObjectMeta, it is of that type.
  return { kind: object.kind, apiVersion, metadata: kept as unknown as ApiObject['metadata'], ...rest };
}

/** An object in another version that has the same fields. */
export function asVersion(object: ApiObject, apiVersion: string): ApiObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

/** The fields of metadata that every kind can be selected by. */
export function selectableMetadata({ metadata }: ApiObject): Readonly<Record<string, string>> {
  return { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace ?? '' };
}
