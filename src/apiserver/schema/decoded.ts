import type { JsonObject } from '../../support/json.ts';

/** An object as it was understood. */
export interface Decoded {
  /** Its fields in the order of its schema, keys of maps sorted: as the API server writes it. */
  readonly value: JsonObject;
  /** Paths of the fields that the schema does not have, which are left out: `spec.foo`, `spec.items[0].foo`. */
  readonly unknownFields: readonly string[];
  /**
   * What strict reading complains of, in the order in which it is found: `unknown field "spec.foo"`, and, of a value that
   * readJson has read, `duplicate field "spec.bar"`.
   */
  readonly strictProblems: readonly string[];
}

/** The real server stops to count strict problems there. */
export const MOST_STRICT_PROBLEMS = 100;
