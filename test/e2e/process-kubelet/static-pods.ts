import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { type Pod, podPath } from './pod.ts';

const configHash = 'kubernetes.io/config.hash';

/**
 * Keeps the pods of the node in step with a folder of manifests: creates new ones, and deletes those whose manifest
 * has changed or gone, and creates them again afterwards. Unlike a real kubelet, it needs the API server.
 */
export async function syncStaticPods(
  api: CoordinationServer,
  nodeName: string,
  folder: string,
  bound: readonly Pod[],
): Promise<void> {
  const wanted = new Map<string, object>();
  for (const file of await readdir(folder)) {
    const text = await readFile(join(folder, file), 'utf8');
    // A manifest that is being written.
    if (text.trim() === '') return;
    const hash = createHash('sha256').update(text).digest('hex');
    wanted.set(hash, mirrorOf(parse(text) as Pod, nodeName, hash));
  }
  for (const pod of bound) {
    const hash = pod.metadata.annotations?.[configHash];
    if (hash === undefined) continue;
    if (!wanted.delete(hash) && pod.metadata.deletionTimestamp === undefined) {
      await api.request('DELETE', podPath(pod));
    }
  }
  for (const pod of wanted.values()) {
    const { namespace } = (pod as Pod).metadata;
    // Refused while the previous one exists.
    await api.request('POST', `/api/v1/namespaces/${namespace}/pods`, pod).catch(() => {});
  }
}

/** A static pod as the API shows it, with its name on this node. */
function mirrorOf(pod: Pod, nodeName: string, hash: string): object {
  const annotations = {
    ...pod.metadata.annotations,
    [configHash]: hash,
    'kubernetes.io/config.source': 'file',
    'kubernetes.io/config.mirror': hash,
  };
  return {
    ...pod,
    metadata: { ...pod.metadata, name: `${pod.metadata.name}-${nodeName}`, annotations },
    spec: { ...pod.spec, nodeName, tolerations: [{ operator: 'Exists' }] },
  };
}
