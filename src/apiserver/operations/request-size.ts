import type { StoredObject } from '../storage/stored-objects.ts';
import type { ResourceRequest } from './resource-request.ts';

/** JSON of this size is done with in some milliseconds, YAML of this size too: it takes a hundred times as long. */
const LARGE_BYTES = 16 * 1024;
const LARGE_YAML_BYTES = 4 * 1024;
/** What is nested no deeper than this is walked without a thought for the stack. */
const MANY_LEVELS = 400;
/** The characters that begin a level: of JSON, and of YAML too. */
const OPENING: ReadonlySet<number> = new Set(['{', '['].map((each) => each.charCodeAt(0)));
const OPENING_IN_YAML: ReadonlySet<number> = new Set(['{', '[', '-', '?'].map((each) => each.charCodeAt(0)));

/** Whether a request may take long, by what it is made of. */
export function isLargeRequest({
  body,
  contentType,
}: Pick<ResourceRequest, 'body' | 'contentType'>): boolean {
  if (body.length === 0) return false;
  const isYaml = contentType.endsWith('yaml');
  if (body.length > (isYaml ? LARGE_YAML_BYTES : LARGE_BYTES)) return true;
  // What is small may still become large: by anchors, or by copies, which may be written with escapes.
  if (isYaml && body.includes('&')) return true;
  const isJsonPatch = contentType === 'application/json-patch+json';
  if (isJsonPatch && (body.includes('copy') || body.includes('\\u'))) return true;
  return mayBeDeep(body, isYaml ? OPENING_IN_YAML : OPENING);
}

/** Whether what is done with an object may take long. */
export function isLargeObject({ characters }: StoredObject): boolean {
  return characters > LARGE_BYTES;
}

/** Counts what begins levels, whether it is in a text or not: there may be fewer levels than that, never more. */
function mayBeDeep(body: Buffer, opening: ReadonlySet<number>): boolean {
  let count = 0;
  for (const byte of body) {
    if (opening.has(byte)) count += 1;
  }
  return count > MANY_LEVELS;
}
