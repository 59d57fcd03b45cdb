/**
 * Does it; what goes wrong is blamed on `what`, a file or a flag.
 *
 * @throws {Error} that names it, with what went wrong as its cause.
 */
export function withContext<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new Error(`${what} cannot be used`, { cause });
  }
}
