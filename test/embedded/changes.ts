/** Long enough for anything on a slow machine. */
export const PATIENCE_MS = 90_000;

/** Things that come about by and by, for tests to wait for. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  /** Something has changed. */
  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** What `find` finds, be it now or after a change. Rejects with what `describe` says when that takes too long. */
  until<T>(find: () => T | undefined, describe: () => string): Promise<T> {
    const found = find();
    if (found !== undefined) return Promise.resolve(found);
    // Made here, so that its stack leads to the test that waits.
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
