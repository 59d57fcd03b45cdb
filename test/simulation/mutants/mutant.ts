/** A breakage of the program, made by hand: the simulation has to notice it. */
export interface Mutant {
  /** A short name, for `--only`. */
  readonly name: string;
  /** What is broken, as it continues "the coordinator" or "a participant". */
  readonly what: string;
  readonly edits: readonly Edit[];
}

/** `find` stands exactly once in `file`, a path from src/ on. */
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
