import { watchedNamespaces } from '../coordination/resource-paths.ts';
import type { Reflector } from '../kubernetes/reflector.ts';

/** One reflector for each namespace that is watched, or one for all. */
export class NamespacedReflectors<T> {
  /** By namespace, '' being all. */
  readonly #byNamespace: ReadonlyMap<string, Reflector<T>>;

  /** No `namespaces` are all; `make` is then asked for ''. */
  constructor(namespaces: readonly string[], make: (namespace: string) => Reflector<T>) {
    this.#byNamespace = new Map(
      watchedNamespaces(namespaces).map((namespace) => [namespace, make(namespace)]),
    );
  }

  /** Those that are watched, '' being all. */
  get namespaces(): readonly string[] {
    return [...this.#byNamespace.keys()];
  }

  get all(): readonly Reflector<T>[] {
    return [...this.#byNamespace.values()];
  }

  /** Whether everything in `namespace` is known. */
  knows(namespace: string): boolean {
    const reflector = this.#byNamespace.get('') ?? this.#byNamespace.get(namespace);
    return reflector?.hasSynced() ?? false;
  }

  /** Whether everything is known that is watched. */
  knowAll(): boolean {
    return this.all.every((reflector) => reflector.hasSynced());
  }

  start(): void {
    for (const reflector of this.all) reflector.start();
  }

  /** See {@link Reflector.relist}. */
  relist(): void {
    for (const reflector of this.all) reflector.relist();
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((reflector) => reflector.stop()));
  }
}
