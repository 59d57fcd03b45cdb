import { isJsonObject } from '../support/json.ts';

/** The fields of metadata that this project reads; all others stay in place, untyped. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Go writes null for a time that was never set. */
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly [field: string]: unknown;
}

/** An object as the server sent it, unknown fields included. Items of a list may lack apiVersion and kind. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Metadata fields that are strings wherever they are present. */
const textFields = ['namespace', 'uid', 'resourceVersion'];
const timeFields = ['creationTimestamp', 'deletionTimestamp'];

/** Whether a JSON value can be taken for an object of the API: its metadata names it and no field read here is amiss. */
export function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (!isJsonObject(value)) return false;
  const { apiVersion, kind, metadata } = value as { [field: string]: unknown };
  if (!isOptionalText(apiVersion) || !isOptionalText(kind) || !isJsonObject(metadata)) return false;
  const { name } = metadata as { name?: unknown };
  return (
    typeof name === 'string' &&
    name !== '' &&
    textFields.every((field) => isOptionalText(metadata[field])) &&
    timeFields.every((field) => metadata[field] === null || isOptionalText(metadata[field]))
  );
}

/**
 * Whether `object` is not newer than `seen`. Resource versions of one resource may be compared as numbers; where they are
 * none, nothing can be said.
 */
export function isNotNewer(object: KubernetesObject, seen: KubernetesObject | undefined): boolean {
  const version = object.metadata.resourceVersion;
  return (
    version !== undefined && seen !== undefined && (isSameVersion(version, seen) || isOlder(object, seen))
  );
}

/** Whether a state of an object is from before another one. */
function isOlder(object: KubernetesObject, seen: KubernetesObject): boolean {
  return isOlderVersion(object.metadata.resourceVersion, seen.metadata.resourceVersion);
}

/** Whether one resourceVersion of a resource is from before another one; false where that cannot be known. */
export function isOlderVersion(version = '', than = ''): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than);
}

function isSameVersion(version: string, { metadata }: KubernetesObject): boolean {
  return version === metadata.resourceVersion;
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
