import type { JsonObject } from '../../support/json.ts';
import type { Review } from '../access/reviews.ts';
import { type Answer, type Layout, objectAnswer } from './answer.ts';
import type { ReadableBody } from './json-body.ts';

/** Reads and writes bodies where nobody waits for that. */
export interface LargeBodies {
  /** What a review asks. @throws {ApiError} as a rejection: 400 */
  question(review: Review, readable: ReadableBody): Promise<JsonObject>;
  /** YAML of what this JSON says. */
  yaml(json: string): Promise<string>;
}

/** YAML is written a hundred times as slowly as JSON: this much of it takes some milliseconds. In characters of JSON. */
const LARGE_YAML = 4 * 1024;

/** The answer of a request: at once where its body is small, or in JSON. */
export function anySizeAnswer(
  code: number,
  body: object,
  layout: Layout,
  largeBodies: LargeBodies,
): Answer | Promise<Answer> {
  if (layout.mediaType !== 'application/yaml') return objectAnswer(code, body, layout);
  const json = JSON.stringify(body);
  if (json.length <= LARGE_YAML) return objectAnswer(code, body, layout);
  return largeBodies.yaml(json).then((text) => ({ code, contentType: layout.mediaType, body: text }));
}
