import type { ApiRequest, KubernetesClient } from '../../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../../src/kubernetes/errors.ts';
import type { JsonObject } from '../../../src/support/json.ts';

interface SimPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Record<string, string>;
}

interface PodPatch {
  readonly metadata: { readonly uid: string; readonly labels: Readonly<Record<string, string | null>> };
}

const PREFIX = 'coordinated-leader-election.dev/';

/** The Pods of an API server that answers at once, and a client of it. */
export class SimPods implements KubernetesClient {
  readonly server = 'https://sim';
  readonly requests: string[] = [];
  /** The status with which a request is refused. */
  refuse: (method: string) => number | undefined = () => undefined;
  /** Whether requests are executed without an answer. */
  loseAnswers = false;
  readonly #pods = new Map<string, SimPod>();
  #created = 0;

  create(namespace: string, name: string): SimPod {
    this.#created += 1;
    const pod = { namespace, name, uid: `uid-${this.#created}`, labels: {} };
    this.#pods.set(`${namespace}/${name}`, pod);
    return pod;
  }

  /** Like a StatefulSet. */
  replace(namespace: string, name: string): void {
    this.create(namespace, name);
  }

  uidOf(namespace: string, name: string): string {
    return this.#pod(namespace, name).uid;
  }

  label(namespace: string, name: string, lease: string): void {
    this.#pod(namespace, name).labels[`${PREFIX}${lease}`] = 'leader';
  }

  /** The names of the Pods with the label of a Lease's leader. */
  labelled(lease = 'scheduler'): readonly string[] {
    const pods = [...this.#pods.values()];
    return pods.filter(({ labels }) => labels[`${PREFIX}${lease}`] === 'leader').map(({ name }) => name);
  }

  async request({ method, path, body }: ApiRequest): Promise<JsonObject> {
    this.requests.push(`${method} ${path}`);
    const status = this.refuse(method);
    if (status !== undefined) throw new ApiError({ method, path, status, message: 'no' });
    const answer = method === 'GET' ? this.#list() : this.#patch(path, body as PodPatch);
    if (this.loseAnswers) throw new ConnectionError('lost', { code: 'ECONNRESET' });
    return answer;
  }

  stream(): Promise<AsyncIterable<Uint8Array>> {
    throw new Error('nothing of Pods is watched');
  }

  async close(): Promise<void> {}

  #pod(namespace: string, name: string): SimPod {
    const pod = this.#pods.get(`${namespace}/${name}`);
    if (!pod) throw new Error(`there is no Pod ${name}`);
    return pod;
  }

  #list(): JsonObject {
    const items = [...this.#pods.values()].map((metadata) => ({ metadata }));
    return { metadata: { resourceVersion: '1' }, items };
  }

  #patch(path: string, { metadata: { uid, labels } }: PodPatch): JsonObject {
    const [, namespace = '', name = ''] = /namespaces\/([^/]+)\/pods\/([^/]+)$/.exec(path) ?? [];
    const refuse = (status: number, message: string) =>
      new ApiError({ method: 'PATCH', path, status, message });
    const pod = this.#pods.get(`${namespace}/${name}`);
    if (!pod) throw refuse(404, 'not found');
    if (pod.uid !== uid) {
      throw refuse(
        422,
        `Pod "${name}" is invalid: metadata.uid: Invalid value: "${uid}": field is immutable`,
      );
    }
    for (const [key, value] of Object.entries(labels)) {
      if (value === null) delete pod.labels[key];
      else pod.labels[key] = value;
    }
    return { metadata: pod };
  }
}
