import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { isKubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Clock, Instant } from '../../src/support/clock.ts';
import { isJsonObject } from '../../src/support/json.ts';

/** A coordinator stops waiting for a watch that has stalled for this long. */
const PATIENCE_MS = 10_000;

/** Checks that no coordinator bases a write on a state that it knows is outdated by its own write (rule 8). */
export class OutdatedWriteCheck {
  readonly #clock: Clock;
  readonly #onViolation: (what: string) => void;
  /** By path: the resourceVersion on which the last answered write was based. */
  readonly #answered = new Map<string, { readonly resourceVersion: unknown; readonly at: Instant }>();

  /** @param clock the coordinator's clock, which limits its waits */
  constructor(clock: Clock, onViolation: (what: string) => void) {
    this.#clock = clock;
    this.#onViolation = onViolation;
  }

  sent(request: ApiRequest, writer: string): void {
    const resourceVersion = baseOf(request);
    if (request.method === 'PATCH' && resourceVersion === undefined)
      this.#onViolation(`${writer} writes ${request.path} whatever its resourceVersion is`);
    const last = this.#answered.get(request.path);
    if (resourceVersion === undefined || last?.resourceVersion !== resourceVersion) return;
    if (this.#clock.now() >= last.at + PATIENCE_MS) return;
    this.#onViolation(`${writer} writes ${request.path} again on resourceVersion ${String(resourceVersion)}`);
  }

  /** After a restore, earlier answers do not count. */
  forget(): void {
    this.#answered.clear();
  }

  answered(request: ApiRequest, answer: unknown): void {
    const resourceVersion = baseOf(request);
    // A write does not change the object if the server drops all written fields.
    const isChanged = !isKubernetesObject(answer) || answer.metadata.resourceVersion !== resourceVersion;
    if (resourceVersion !== undefined && isChanged) {
      this.#answered.set(request.path, { resourceVersion, at: this.#clock.now() });
    }
  }
}

function baseOf({ method, body }: ApiRequest): unknown {
  if (method !== 'PATCH' || !isJsonObject(body) || !isJsonObject(body['metadata'])) return undefined;
  return body['metadata']['resourceVersion'];
}
