import { isJsonObject } from '../support/json.ts';

/** The metadata of an object. {@link isKubernetesObject} checks only the fields that are listed here. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Null means the same as an absent field: Go encodes an empty time as null. */
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly [field: string]: unknown;
}

/** An object as the server sent it, including unknown fields. Items of a list may have no apiVersion and no kind. */
export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Metadata fields that must be strings if present. The fields in `timeFields` may also be null. */
const textFields = ['namespace', 'uid', 'resourceVersion'];
const timeFields = ['creationTimestamp', 'deletionTimestamp'];

/** True for an object with a name, and with the declared types of {@link KubernetesObject} and {@link ObjectMeta}. */
export function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (!isJsonObject(value)) return false;
  const { apiVersion, kind, metadata } = value;
  if (!isOptionalText(apiVersion) || !isOptionalText(kind) || !isJsonObject(metadata)) return false;
  const { name } = metadata;
  return (
    typeof name === 'string' &&
    name !== '' &&
    textFields.every((field) => isOptionalText(metadata[field])) &&
    timeFields.every((field) => metadata[field] === null || isOptionalText(metadata[field]))
  );
}

/** True if `object` is as old as `seen` or older; false if their resource versions cannot be compared. */
export function isNotNewer(object: KubernetesObject, seen: KubernetesObject | undefined): boolean {
  const version = object.metadata.resourceVersion;
  const seenVersion = seen?.metadata.resourceVersion;
  return version !== undefined && (version === seenVersion || isOlderVersion(version, seenVersion));
}

/** True if the resourceVersion `version` is older than `than`; false if one of them is missing or not a number. */
export function isOlderVersion(version = '', than = ''): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(than) && BigInt(version) < BigInt(than);
}

/** Returns a field of the metadata of an object or a list; undefined if the field is absent, empty or not a string. */
export function metadataText(value: unknown, field: 'resourceVersion' | 'continue'): string | undefined {
  const metadata = isJsonObject(value) ? value['metadata'] : undefined;
  const text = isJsonObject(metadata) ? metadata[field] : undefined;
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
