import type { JsonObject } from '../../support/json.ts';
import type { StructSchema } from '../schema/schema.ts';
import { difference, emptyFieldSet, type FieldSet, intersection, union } from './field-set.ts';
import type { Manager, Managers } from './managers.ts';
import { removeFields } from './merged-objects.ts';
import type { Versions } from './ownership.ts';
import { fieldSetOf, withNamedFields } from './typed-fields.ts';
import { inVersion } from './version-views.ts';

/**
 * Takes out of a merged object what an applier applied the last time, and nobody wants any more: neither that applier,
 * whose new fields are among the `managers`, nor another.
 */
export function prune(
  merged: JsonObject,
  last: Manager | undefined,
  managers: Managers,
  versions: Versions,
): JsonObject {
  const schema = last && versions.schema(last.apiVersion);
  if (last === undefined || schema === undefined) return merged;
  const apiVersion = String(merged['apiVersion']);
  const whole = inVersion(merged, last.apiVersion, versions);
  const bare = removeFields(schema, whole, withNamedFields(schema, last.fields));
  const owned = withOwnedFields(whole, bare, ownedByVersion(managers, last.apiVersion), versions);
  const kept = inVersion(owned, last.apiVersion, versions);
  // Only what this applier owned may go: not what nobody owned, nor what lies below but was never applied.
  const gone = difference(allFields(schema, whole), allFields(schema, kept));
  const pruned = removeFields(schema, whole, intersection(gone, withNamedFields(schema, last.fields)));
  return inVersion(pruned, apiVersion, versions);
}

/** What is owned in each version, this one first: what it lacks might be needed to convert to others. */
function ownedByVersion(managers: Managers, first: string): ReadonlyMap<string, FieldSet> {
  const owned = new Map<string, FieldSet>([[first, emptyFieldSet()]]);
  for (const { apiVersion, fields } of managers.values()) {
    owned.set(apiVersion, union(owned.get(apiVersion) ?? emptyFieldSet(), fields));
  }
  return owned;
}

/** Puts back what was taken out although somebody owns it, version by version. */
function withOwnedFields(
  whole: JsonObject,
  bare: JsonObject,
  owned: ReadonlyMap<string, FieldSet>,
  versions: Versions,
): JsonObject {
  let result = bare;
  for (const [apiVersion, fields] of owned) {
    const schema = versions.schema(apiVersion);
    if (schema === undefined) continue;
    const all = inVersion(whole, apiVersion, versions);
    const left = inVersion(result, apiVersion, versions);
    const kept = union(allFields(schema, left), withNamedFields(schema, fields));
    result = removeFields(schema, all, difference(allFields(schema, all), kept));
  }
  return result;
}

function allFields(schema: StructSchema, object: JsonObject): FieldSet {
  return withNamedFields(schema, fieldSetOf(schema, object));
}
