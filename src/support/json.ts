/** A parsed JSON object. The types of its fields are unknown, so check each field before use. */
export interface JsonObject {
  readonly [field: string]: unknown;
}

/** Returns whether a parsed JSON value is an object: not null, and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. Returns undefined for invalid JSON, and for JSON that is not an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
