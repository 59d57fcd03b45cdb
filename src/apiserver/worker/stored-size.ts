import { ApiError } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';

/** What etcd takes for one object: --max-request-bytes, by default. */
const MOST_BYTES = 1.5 * 1024 * 1024;

/**
 * Refuses an object that no cluster could keep, in the words of etcd.
 * @throws {ApiError} 500, without a reason, as a real server does
 */
export function checkStoredSize(object: ApiObject): void {
  if (leastBytes(object) > MOST_BYTES) throw new ApiError(500, '', 'etcdserver: request is too large');
}

/**
 * How much an object takes in etcd at least, in bytes: its text, and the keys of its maps. Names of fields and lengths take
 * so little there that they are not counted: nothing is refused here that is taken elsewhere.
 */
export function leastBytes({ metadata, ...rest }: ApiObject): number {
  const { labels = {}, annotations = {}, managedFields = [], ...others } = metadata;
  let bytes = textBytes(rest) + textBytes(others);
  for (const map of [labels, annotations]) bytes += textBytes(Object.keys(map)) + textBytes(map);
  for (const { fieldsV1, ...entry } of managedFields) {
    bytes += textBytes(entry) + Buffer.byteLength(JSON.stringify(fieldsV1 ?? {}));
  }
  return bytes;
}

/** How long all texts within a value are together. */
function textBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  let bytes = 0;
  for (const each of Object.values(value)) bytes += textBytes(each);
  return bytes;
}
