/** A JSON object of which nothing is known yet; every field has to be checked before it is used. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

/** Whether a parsed JSON value is an object: not null, not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
