/** Stands for a process that may be stopped and continued: whoever acts passes the gate first. */
export class PauseGate {
  #open: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  get isPaused(): boolean {
    return this.#open !== undefined;
  }

  pause(): void {
    this.#open ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** Resolves as soon as it is not paused. */
  async passed(): Promise<void> {
    while (this.#open) await this.#open.promise;
  }
}
