/** A manual mutation of the program that the simulation must notice. */
export interface Mutant {
  /** A short name, for `--only`. */
  readonly name: string;
  /** The defect, as a predicate after "the coordinator" or "a participant". */
  readonly what: string;
  readonly edits: readonly Edit[];
}

/** `find` occurs exactly once in `file`, a path below src/. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

export function mutant(
  name: string,
  what: string,
  ...edits: readonly (readonly [file: string, find: string, put: string])[]
): Mutant {
  return { name, what, edits: edits.map(([file, find, put]) => ({ file, find, put })) };
}
