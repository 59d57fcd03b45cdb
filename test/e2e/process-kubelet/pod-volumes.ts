import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { type Pod, type ProjectedSource, podField, type Volume } from './pod.ts';

/** The place of a pod. */
export interface PodPlace {
  readonly nodeName: string;
  readonly podIp: string;
  /** The pod's own folder. */
  readonly directory: string;
  /** The parent of a folder for each volume claim, which all its pods share on all nodes. */
  readonly claims: string;
}

/**
 * Fills a folder for each volume of a pod, by the volume's name. Tokens are issued once, for their requested
 * lifetime: at least an hour, which is longer than any test.
 * @throws Error for volumes of other types than the chart allows, and while their sources are missing
 */
export async function fillVolumes(
  api: CoordinationServer,
  pod: Pod,
  place: PodPlace,
): Promise<ReadonlyMap<string, string>> {
  const folders = new Map<string, string>();
  for (const volume of pod.spec.volumes ?? []) {
    const claim = volume.persistentVolumeClaim?.claimName;
    const folder = claim
      ? join(place.claims, pod.metadata.namespace, claim)
      : join(place.directory, 'volumes', volume.name);
    await mkdir(folder, { recursive: true });
    for (const [path, text] of await filesOf(api, pod, place, volume)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    folders.set(volume.name, folder);
  }
  return folders;
}

async function filesOf(
  api: CoordinationServer,
  pod: Pod,
  place: PodPlace,
  volume: Volume,
): Promise<readonly (readonly [string, string])[]> {
  if (volume.emptyDir || volume.persistentVolumeClaim) return [];
  if (volume.configMap) return projected(api, pod, place, { configMap: volume.configMap });
  if (!volume.projected)
    throw new Error(`the process kubelet does not know the kind of volume ${volume.name}`);
  const sources = volume.projected.sources.map((source) => projected(api, pod, place, source));
  return (await Promise.all(sources)).flat();
}

async function projected(
  api: CoordinationServer,
  pod: Pod,
  place: PodPlace,
  source: ProjectedSource,
): Promise<readonly (readonly [string, string])[]> {
  const { serviceAccountToken, configMap, downwardAPI } = source;
  if (serviceAccountToken) {
    return [[serviceAccountToken.path, await issueToken(api, pod, serviceAccountToken)]];
  }
  if (configMap) {
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/configmaps/${configMap.name}`;
    const { data = {} } = await api.request<{ data?: Record<string, string> }>('GET', path);
    const items = configMap.items ?? Object.keys(data).map((key) => ({ key, path: key }));
    return items.map((item) => [item.path, data[item.key] ?? '']);
  }
  return (downwardAPI?.items ?? []).map((item) => {
    const fieldPath = item.fieldRef?.fieldPath ?? '';
    return [item.path, podField(pod, place.podIp, place.nodeName, fieldPath)];
  });
}

async function issueToken(
  api: CoordinationServer,
  pod: Pod,
  { audience, expirationSeconds = 3607 }: NonNullable<ProjectedSource['serviceAccountToken']>,
): Promise<string> {
  const { namespace, name, uid } = pod.metadata;
  const account = pod.spec.serviceAccountName ?? 'default';
  const { status } = await api.request<{ status: { token: string } }>(
    'POST',
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: audience === undefined ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    },
  );
  return status.token;
}

/** The lines of a pod's /etc/hosts: itself, and the Services of its namespace, by the address of one of their pods. */
export async function hostsFile(api: CoordinationServer, pod: Pod, podIp: string): Promise<string> {
  const { namespace, name } = pod.metadata;
  const slices = await api.request<{ items: readonly EndpointSlice[] }>(
    'GET',
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
  );
  const services = slices.items.flatMap(({ metadata, endpoints }) => {
    const service = metadata.labels?.['kubernetes.io/service-name'];
    const ready = (endpoints ?? []).find(({ conditions }) => conditions?.ready);
    const [address] = ready?.addresses ?? [];
    return service && address
      ? [`${address} ${service} ${service}.${namespace} ${service}.${namespace}.svc`]
      : [];
  });
  return ['127.0.0.1 localhost', `${podIp} ${name}`, ...services, ''].join('\n');
}

interface EndpointSlice {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: { readonly ready?: boolean };
      }[]
    | null;
}
