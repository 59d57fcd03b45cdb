import { applyMergePatch } from '../../apiserver/patch/merge-patch.ts';
import type { ApiRequest, KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { JsonObject } from '../../support/json.ts';
import { LineStream } from './line-stream.ts';

/** What it has candidates as. */
export const CANDIDATES = 'coordination.k8s.io/v1beta1';

/**
 * As much of an API server as a controller needs to elect. It has nothing at first, keeps what is written, and shows that to
 * whoever watches; all of it in memory, in the process that asks.
 */
export class PracticeServer implements KubernetesClient {
  readonly server = 'practice';
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #watches = new Map<string, LineStream>();
  #revision = 2;
  /** Told of each object that was written, once those who watch have been. */
  onWritten: (path: string, object: KubernetesObject) => void = () => {};

  async request({ method, path, body }: ApiRequest): Promise<JsonObject> {
    const [, , group, version, ...rest] = path.split('/');
    const apiVersion = `${group}/${version}`;
    if (rest.length === 0 && apiVersion === CANDIDATES) return { resources: [{ name: 'leasecandidates' }] };
    if (rest.length === 0) throw new ApiError({ method, path, status: 404, message: 'not served' });
    if (method === 'GET') {
      const items = [...this.#objects]
        .filter(([each]) => collectionOf(each) === path)
        .map(([, item]) => item);
      return { metadata: { resourceVersion: String(this.#revision) }, items };
    }
    const change = body as KubernetesObject;
    return this.write(method === 'POST' ? `${path}/${change.metadata.name}` : path, change);
  }

  async stream({ path, signal }: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    const lines = new LineStream(signal);
    this.#watches.set(path, lines);
    return lines;
  }

  async close(): Promise<void> {}

  /** Creates or merges an object, as a POST or a merge patch does. */
  write(path: string, change: JsonObject): KubernetesObject {
    const former = this.#objects.get(path);
    const object = applyMergePatch(former ?? {}, change) as KubernetesObject;
    const uid = former?.metadata.uid ?? path;
    const written = {
      ...object,
      metadata: { ...object.metadata, uid, resourceVersion: String(this.#revision++) },
    };
    this.#objects.set(path, written);
    const event = { type: former ? 'MODIFIED' : 'ADDED', object: written };
    this.#watches.get(collectionOf(path))?.write(JSON.stringify(event));
    this.onWritten(path, written);
    return written;
  }
}

/** Of all namespaces, as it is watched. */
function collectionOf(path: string): string {
  const [, apis, group, version, , , resource] = path.split('/');
  return ['', apis, group, version, resource].join('/');
}
