import { isJsonObject } from '../../support/json.ts';

/**
 * A value of a patch for a place where there is nothing yet: without nulls and without what only directives are about;
 * undefined where that is all of it.
 */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.some(([key]) => key === '$patch')) return undefined;
  return Object.fromEntries(
    entries
      .map(([key, each]) => [key, withoutDirectives(each)] as const)
      .filter(([, each]) => each !== undefined),
  );
}
