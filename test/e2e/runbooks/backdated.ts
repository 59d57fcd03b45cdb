import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { eventually } from '../coordinator.ts';

/** Makes the API server store its objects in etcd as JSON, so that {@link backdate} can read them. */
export const storedAsJson = '--storage-media-type=application/json';

interface Stored {
  readonly metadata: { readonly creationTimestamp: string };
}

/**
 * Makes an object in etcd older, as no request to an API server can, so that a test need not wait until it is old.
 * Watches see the change.
 * @param key behind `/registry/`
 */
export async function backdate({ etcdUrl }: ControlPlane, key: string, byMs: number): Promise<void> {
  async function ask<T>(path: string, body: object): Promise<T> {
    const response = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd: ${await response.text()}`);
    return (await response.json()) as T;
  }

  const name = base64(`/registry/${key}`);

  async function write(): Promise<true | undefined> {
    const { kvs: [found] = [] } = await ask<{ kvs?: { value: string; mod_revision: string }[] }>('range', {
      key: name,
    });
    if (!found) throw new Error(`etcd has no ${key}`);
    const object = JSON.parse(Buffer.from(found.value, 'base64').toString()) as Stored;
    const created = Date.parse(object.metadata.creationTimestamp) - byMs;
    const creationTimestamp = new Date(created).toISOString().replace('.000Z', 'Z');
    const older = { ...object, metadata: { ...object.metadata, creationTimestamp } };
    const { succeeded } = await ask<{ succeeded?: boolean }>('txn', {
      compare: [{ key: name, target: 'MOD', mod_revision: found.mod_revision }],
      success: [{ request_put: { key: name, value: base64(JSON.stringify(older)) } }],
    });
    return succeeded || undefined;
  }

  await eventually(write, `${key} is older, and nobody has written it meanwhile`, 30_000, 100);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
