import type { Slices } from '../../support/event-loop.ts';
import type { ApiObject } from '../schema/api-object.ts';

/** An object on its way from the thread: in JSON, with each field of its metadata by itself, none of which takes long to read. */
export interface ObjectText {
  /** All of it, but with no metadata. */
  readonly object: string;
  readonly metadata: readonly (readonly [field: string, json: string])[];
}

export function objectText(object: ApiObject): ObjectText {
  return {
    object: JSON.stringify({ ...object, metadata: {} }),
    metadata: Object.entries(object.metadata)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [field, JSON.stringify(value)]),
  };
}

/** The same object again. Others are let in between its parts. */
export async function readObject(text: ObjectText, slices: Slices): Promise<ApiObject> {
  const fields: [string, unknown][] = [];
  for (const [field, json] of text.metadata) {
    fields.push([field, JSON.parse(json)]);
    if (json.length > LARGE) await slices.turn();
  }
  return {
    ...(JSON.parse(text.object) as object),
    metadata: Object.fromEntries(fields),
  } as unknown as ApiObject;
}

/** In characters: less is read in no time. */
const LARGE = 64 * 1024;
