/** Long enough for any condition on a slow machine. */
export const PATIENCE_MS = 90_000;

/** Conditions that tests wait for. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  /** Reports a change. */
  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /**
   * Resolves to the result of `find`, now or after a change. Rejects with the text of `describe` if that takes too
   * long.
   */
  until<T>(find: () => T | undefined, describe: () => string): Promise<T> {
    const found = find();
    if (found !== undefined) return Promise.resolve(found);
    // Created here, so that its stack contains the waiting test.
    const late = new Error();
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        end();
      };
      const listener = () => {
        const value = find();
        if (value !== undefined) settle(() => resolve(value));
      };
      const timer = setTimeout(() => {
        late.message = `not within ${PATIENCE_MS} ms: ${describe()}`;
        settle(() => reject(late));
      }, PATIENCE_MS);
      this.#listeners.add(listener);
    });
  }
}
