import type { JsonObject } from '../../support/json.ts';
import { ApiError, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { goJson } from '../schema/go-text.ts';

/**
 * What a custom resource does not say of itself: nothing else tells of which type it is. Undefined: it says everything.
 * `written` is the object as it was sent, which is shown.
 */
export function untoldType(object: JsonObject, written: string): string | undefined {
  const untold = isText(object['kind']) ? (isText(object['apiVersion']) ? '' : 'apiVersion') : 'Kind';
  return untold === '' ? undefined : `Object '${untold}' is missing in '${written}'`;
}

/**
 * The kind that a patch leaves a custom resource with, which is for validation to judge.
 * @throws {ApiError} 422 where it is none, or of another version than `expected`; `refused` tells of the patch as a whole.
 */
export function patchedKind(
  patched: JsonObject,
  expected: string,
  refused: (problem: string) => Error,
): string {
  const { kind, apiVersion, metadata } = patched;
  if (!isText(kind)) throw refused(untoldType(patched, goJson(patched)) ?? '');
  if (!isText(apiVersion)) {
    const problem = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${problem}`, {
      causes: [{ message: problem }],
    });
  }
  if (apiVersion !== expected) {
    const [group = '', version] = apiVersion.split('/');
    const { name } = metadata as { readonly name: string };
    throw invalidObject({ group: version === undefined ? '' : group, name: kind }, name, [
      invalid('apiVersion', apiVersion, `must be ${expected}`),
    ]);
  }
  return kind;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
